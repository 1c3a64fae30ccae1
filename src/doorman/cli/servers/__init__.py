"""Servers that run in the background: started, looked at and stopped by name."""
