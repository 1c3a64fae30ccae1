"""How far servers come while etcd can be asked: one member that does not answer must not hold up anybody for long.

A server has what it needs where etcd has a leader, and two members are as usual, and so is the way to each. Then it is
never far behind, and whoever asks it is answered soon. What was disturbed a moment ago is given its time.
"""

from collections import deque

from sim.sim_cluster import SimCluster
from sim.sim_etcd_members import SimEtcd, SimMember
from sim.sim_grpc import EtcdLink
from sim.sim_truth import Truth
from sim.sim_world import World

BEHIND_SECONDS_MAX = 9.0
"""As long as it takes to notice that a member hangs, and to read everything from the next; less than it takes to notice
that a connection is dead.
"""
ANSWER_SECONDS_MAX = 12.0
"""Of a request that met nothing but one member that does not answer."""
CALM_SECONDS = 5.0
"""After which what was asked before no longer keeps anybody from answering."""
SLOW_NETWORK_SECONDS = 0.1


class EtcdProgress:
    def __init__(self, world: World, etcd: SimEtcd, clusters: list[SimCluster], truth: Truth) -> None:
        self._world = world
        self._etcd = etcd
        self._truth = truth
        self._clusters = clusters
        self._revisions: deque[tuple[float, int]] = deque()
        """When etcd was at which."""
        self.longest_wait_seconds = 0.0

    def look(self) -> None:
        """Every now and then."""
        now = self._world.now()
        self._revisions.append((now, self._etcd.history.revision))
        while len(self._revisions) > 1 and self._revisions[1][0] <= now - BEHIND_SECONDS_MAX:
            self._revisions.popleft()
        then, revision = self._revisions[0]
        if then > now - BEHIND_SECONDS_MAX:
            return
        for cluster in self._clusters:
            store = cluster.store
            if store is None or not cluster.is_announced or self._usual_since(cluster) > then:
                continue
            missed = self._truth.between("", store.revision, revision)
            if missed:
                self._world.fail(f"server{cluster.name} has not heard of {missed[0].key} for {now - then:.1f} s")

    def check_wait(self, cluster: SimCluster, began: float, what: str) -> None:
        """Somebody was answered who had asked then."""
        is_slow = cluster.conditions.delay_seconds_max > SLOW_NETWORK_SECONDS
        if is_slow or not cluster.is_announced or self._usual_since(cluster) > began - CALM_SECONDS:
            return
        if cluster.stopped_until > began:
            return
        waited = self._world.now() - began
        self.longest_wait_seconds = max(self.longest_wait_seconds, waited)
        if waited > ANSWER_SECONDS_MAX:
            self._world.fail(f"server{cluster.name} answered {what} after {waited:.1f} s")

    def _usual_since(self, cluster: SimCluster) -> float:
        """Since when a server has what it needs; it may be yet to come."""
        assert cluster.server is not None, "it is there"
        ways = sorted(_usual_since(member, cluster.links[member.address]) for member in self._etcd.members)
        return max(ways[1], self._etcd.usual_since, cluster.server.stopped_until, cluster.announced_at)


def _usual_since(member: SimMember, link: EtcdLink) -> float:
    return max(member.usual_since, link.usual_since)
