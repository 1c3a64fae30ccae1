"""Admission policies: conditions and changes written in CEL, bound to what they are for."""
