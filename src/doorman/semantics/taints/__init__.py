"""Rules about taints and tolerations."""
