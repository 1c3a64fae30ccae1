"""The API server over HTTP: for components that run as processes of their own."""
