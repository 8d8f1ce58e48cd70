"""Choosing and quoting by rules: what can be quoted, what says most on the question, and paragraphs made of it."""
