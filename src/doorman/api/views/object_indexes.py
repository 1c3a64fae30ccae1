"""The indexes that informers keep of more than one kind. Those of pods alone are in `pod_indexes`."""

from typing import Final

BY_NAMESPACE: Final = "namespace"
BY_OWNER: Final = "owner"
"""By the uids of owners; every kind has this and the one before."""
BY_ORPHANAGE: Final = "orphan"
"""By namespace: what has no controller."""
