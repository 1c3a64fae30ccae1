"""Which waiting pods use which claims, of devices or of volumes: so that a change of a claim finds its pods."""

from collections.abc import Sequence


class ClaimUsers:
    """
    >>> users = ClaimUsers()
    >>> users.pod_waits("default/p", ("default/a", "default/b"))
    >>> sorted(users.of("default/a"))
    ['default/p']
    >>> users.pod_ends_waiting("default/p")
    >>> sorted(users.of("default/a"))
    []
    """

    def __init__(self) -> None:
        self._users: dict[str, dict[str, None]] = {}
        """Keys of pods by the keys of claims."""
        self._used: dict[str, tuple[str, ...]] = {}
        """The other way round. A pod without claims is not in it, and so costs nothing later."""

    def of(self, claim_key: str) -> frozenset[str]:
        """Keys of the waiting pods that use it."""
        return frozenset(self._users.get(claim_key, ()))

    def pod_waits(self, pod_key: str, claims: Sequence[str]) -> None:
        """These are all its claims, whatever was said before."""
        claims = tuple(claims)
        if self._used.get(pod_key, ()) == claims:
            return
        self.pod_ends_waiting(pod_key)
        if claims:
            self._used[pod_key] = claims
        for claim in claims:
            self._users.setdefault(claim, {})[pod_key] = None

    def pod_ends_waiting(self, pod_key: str) -> None:
        for claim in self._used.pop(pod_key, ()):
            users = self._users.get(claim, {})
            users.pop(pod_key, None)
            if not users:
                self._users.pop(claim, None)
