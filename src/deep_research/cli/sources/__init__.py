"""Commands on what is searched: folders of documents, sources of the web, and what is kept of answers."""
