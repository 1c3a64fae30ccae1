"""Doorman's own kinds: dedicated nodes and toleration policies."""
