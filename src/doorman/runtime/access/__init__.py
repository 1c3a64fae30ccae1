"""How clients get in: keys, certificates, tokens, and the kubeconfig that names them."""
