"""Decides which node each pod goes to: a synchronous, deterministic state machine over views; no clock, no I/O."""
