"""Kinds of resource.k8s.io: devices, what asks for them, what was allocated, and what taints them."""
