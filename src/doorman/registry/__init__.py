"""What may be written and how it is read back: the one compare-and-swap loop, the watch cache, a strategy a kind."""
