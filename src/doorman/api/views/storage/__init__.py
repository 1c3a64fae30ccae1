"""Views of storage.k8s.io: classes of volumes, and what CSI drivers say."""
