"""What the server says of itself: groups, versions, OpenAPI."""
