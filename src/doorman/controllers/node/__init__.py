"""Controllers of nodes: health, zones, taints by condition, taints with an end."""
