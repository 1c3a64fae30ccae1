"""Simulated nodes: kubelets in name only, that heartbeat, judge, run and end pods as a kubelet would."""
