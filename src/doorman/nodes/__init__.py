"""Simulated nodes: kubelets in name only, that heartbeat, admit, run and end pods as a kubelet would."""
