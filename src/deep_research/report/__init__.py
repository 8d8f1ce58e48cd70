"""The report: paragraphs, citation numbers, Markdown."""
