"""Bytes under keys, one revision counter, compare-and-swap, events in order. Knows no kinds."""
