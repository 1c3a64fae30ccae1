"""The kinds of flowcontrol.apiserver.k8s.io."""
