"""What readers see of the store: the watch cache, stored objects, totals, and what admission may look up."""
