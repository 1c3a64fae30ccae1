"""The admission plugins, one a file, each under Kubernetes' name for it."""
