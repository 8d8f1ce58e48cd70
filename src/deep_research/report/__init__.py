"""What we tell: paragraphs, citation numbers, Markdown."""
