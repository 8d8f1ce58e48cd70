"""Reports in other formats than Markdown, and the evidence that goes with them."""
