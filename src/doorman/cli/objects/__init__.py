"""Commands that read and write objects of a cluster, as kubectl's do."""
