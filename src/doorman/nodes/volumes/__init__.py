"""Volumes of simulated nodes: their driver, and what kubelets say of them."""
