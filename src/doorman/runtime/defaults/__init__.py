"""What every cluster has from the start: namespaces, priority classes, roles and their bindings."""
