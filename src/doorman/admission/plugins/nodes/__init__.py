"""Plugins about nodes and their taints."""
