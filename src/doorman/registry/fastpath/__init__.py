"""Writes that are made often, made short: each has the outcome of the long way."""
