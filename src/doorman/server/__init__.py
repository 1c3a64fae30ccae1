"""The API server: a pipeline from request to answer, authentication, discovery, tables, HTTP."""
