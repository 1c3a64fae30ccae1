"""Pods that wait to be scheduled, what wakes them, and who of them is nominated to a node."""
