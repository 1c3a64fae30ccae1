"""Custom kinds: what definitions add, and their objects between versions."""
