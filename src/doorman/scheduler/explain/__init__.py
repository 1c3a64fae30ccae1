"""Why a pod fits where it fits, from the plugins that decide."""
