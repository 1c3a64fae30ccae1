"""Preemption: who would have to leave, who is leaving, who is nominated."""
