"""Who may ask: accounts, their tokens and passwords, what they may use, and the log of what was done."""
