"""Pure rules of volumes: which one is right for a claim, from which nodes it can be used, which claims are a pod's."""
