"""Kubernetes' taints and tolerations as a system of its own."""
