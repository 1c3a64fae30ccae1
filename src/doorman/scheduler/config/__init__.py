"""The scheduler's configuration: read, checked, resolved."""
