"""Scheduler extenders, and decisions that wait for them."""
