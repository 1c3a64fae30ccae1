"""What controllers of pods share: owners, revisions, creation and deletion; and the pod garbage collector."""
