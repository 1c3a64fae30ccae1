"""Pods that wait to be scheduled, and what wakes them."""
