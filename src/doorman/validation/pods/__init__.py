"""Pods, and the pods inside templates: what may be created, changed and reported."""
