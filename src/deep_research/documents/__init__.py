"""Documents: files of any format read as text, and folders of them to search."""
