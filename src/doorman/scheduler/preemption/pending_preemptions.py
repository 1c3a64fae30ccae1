"""Pods whose victims are being asked to leave. They are not tried meanwhile: what they wait for is under way.

The last victim is asked after all others, so that its leaving is what brings the pod back:

    begin("a")              a waits, whatever else happens
    last("a", "v")          all of its victims but v have been asked
    seen_leaving("v")       ["a"]: from now on it may be tried, even though the answer about v is still to come
    end("a")                all have been asked

What leaves earlier says nothing: the pod would be tried while others are still in its way.
"""

from collections.abc import Sequence


class PendingPreemptions:
    def __init__(self) -> None:
        self._last: dict[str, str] = {}
        """By the key of the preemptor: its last victim, or "" while others come first."""
        self._preemptors: dict[str, list[str]] = {}
        """By the key of the last victim."""

    def __contains__(self, key: object) -> bool:
        return key in self._last

    def begin(self, key: str) -> None:
        self.end(key)
        self._last[key] = ""

    def last(self, key: str, victim: str) -> None:
        if key in self._last:
            self._last[key] = victim
            self._preemptors.setdefault(victim, []).append(key)

    def seen_leaving(self, victim: str) -> Sequence[str]:
        """Who waited for just that."""
        preemptors = self._preemptors.pop(victim, ())
        for preemptor in preemptors:
            del self._last[preemptor]
        return preemptors

    def end(self, key: str) -> None:
        victim = self._last.pop(key, "")
        if victim:
            others = self._preemptors[victim]
            others.remove(key)
            if not others:
                del self._preemptors[victim]
