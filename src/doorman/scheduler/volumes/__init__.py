"""What the scheduler knows of volumes: claims, volumes, classes, drivers, and bindings that are being written."""
