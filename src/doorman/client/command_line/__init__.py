"""The client of commands: kubeconfig, discovery, manifests."""
