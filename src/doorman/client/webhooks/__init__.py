"""Calls to admission webhooks."""
