"""Admission as the registry sees it: its phases, what it may look up, objects in other versions."""
