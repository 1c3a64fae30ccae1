"""Plugins that add, restrict or refuse tolerations."""
