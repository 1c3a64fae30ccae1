"""Commands for what is stored: backups, and moving it between a directory and etcd."""
