"""Scheduler extenders: how they are configured, and what they answer."""
