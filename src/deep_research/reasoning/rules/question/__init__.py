"""Reading a question by rules: is it clear, what is it about, which sections does it ask for."""
