"""Pure rules of dynamic resource allocation: device taints, and which claims are a pod's."""
