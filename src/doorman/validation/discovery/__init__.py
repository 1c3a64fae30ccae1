"""Kinds of the group discovery.k8s.io."""
