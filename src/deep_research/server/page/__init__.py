"""The page: server-rendered views over the same service as the API. Templates, styles and words lie beside it."""
