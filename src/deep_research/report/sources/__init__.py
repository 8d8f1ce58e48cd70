"""Where things come from: hits, documents and their addresses."""
