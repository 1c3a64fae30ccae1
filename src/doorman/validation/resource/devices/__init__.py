"""Rules about single devices: their names, taints, capacity, and the requests for them."""
