"""Commands for nodes: simulated ones, their devices, and what an operator does before work on any node."""
