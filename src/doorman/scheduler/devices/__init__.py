"""Devices for claims: what is published, what is allocated, and the search for an allocation."""
