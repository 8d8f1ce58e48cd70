"""Deep Research over HTTP: the API, the page, and the interfaces that OpenAI and MCP clients speak."""
