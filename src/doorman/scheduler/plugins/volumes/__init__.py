"""Plugins about volumes: where a pod may go because of its claims."""
