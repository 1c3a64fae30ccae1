"""What is added to an object, or refused, on its way in: one plugin a file, in Kubernetes' order."""
