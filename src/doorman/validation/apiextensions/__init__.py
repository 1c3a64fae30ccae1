"""Definitions of custom kinds, and their objects against them."""
