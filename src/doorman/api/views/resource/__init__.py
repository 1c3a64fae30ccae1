"""The views of resource.k8s.io: devices, and claims to them."""
