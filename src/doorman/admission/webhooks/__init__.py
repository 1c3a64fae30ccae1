"""Admission webhooks: which are asked, what they are sent, what becomes of their answers."""
