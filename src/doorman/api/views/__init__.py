"""Frozen views: the members of each kind that components act upon, one module an API group or kind."""
