"""Kinds of the group networking.k8s.io."""
