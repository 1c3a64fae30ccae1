"""Admission webhooks: how they are asked, and what becomes of their answers."""
