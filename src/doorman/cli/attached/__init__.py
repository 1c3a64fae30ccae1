"""Commands that run one component against an API server."""
