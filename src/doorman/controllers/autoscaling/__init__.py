"""Scaling workloads by what their pods use."""
