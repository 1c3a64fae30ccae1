"""Preemption: who would have to leave, and who is leaving."""
