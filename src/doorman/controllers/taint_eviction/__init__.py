"""The taint eviction controller."""
