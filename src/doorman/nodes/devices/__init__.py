"""Devices of simulated nodes, and the driver that publishes them."""
