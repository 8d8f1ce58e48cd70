"""The server as a model behind OpenAI's interface: a question goes in as a message, its report comes out."""
