"""Questions that are researched again and again, and who is told."""
