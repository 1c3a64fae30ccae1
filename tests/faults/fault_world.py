"""The processes of the fault run: three etcd members and two Doormen, and what happens to them.

The Doormen differ in what shows who acted: pods that pass one get another toleration than those that pass the other,
and each scheduler has nodes of its own.
"""

import json
import os
import random
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import IO

from faults.fault_network import Gate, Network, owner_of
from support.etcd import BINARY, EtcdMember, free_ports
from support.server import Server

MEMBERS, DOORMEN = 3, 2
NODES = 4
TOLERATION_SECONDS = (301, 302)
"""By Doorman: what its admission gives to pods that do not say."""
READY_SECONDS_MAX = 60.0
_FLAGS_OF_ETCD = subprocess.run(
    [BINARY, "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
).stdout


class World:
    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._rng = random.Random(seed)
        self._pause = threading.Event()
        self.log: IO[str] = (folder / "log").open("w")
        self.counts: Counter[str] = Counter()
        self.network = Network()
        self._peers = [self.network.gate() for _ in range(MEMBERS)]
        self._clients = [[self.network.gate() for _ in range(MEMBERS)] for _ in range(DOORMEN)]
        self._ports = [free_ports(2) for _ in range(MEMBERS)]
        self.members = [self._member(number) for number in range(MEMBERS)]
        for member in self.members:
            member.start(self.members, token=f"faults-{os.getpid()}")
        for member in self.members:
            member.wait()
        self._urls = [
            [f"http://127.0.0.1:{self._client_port(doorman, number)}" for number in range(MEMBERS)]
            for doorman in range(DOORMEN)
        ]
        self.doormen = [self._doorman(number) for number in range(DOORMEN)]

    @property
    def direct_urls(self) -> list[str]:
        """Of members, whatever is cut."""
        return [f"http://127.0.0.1:{client}" for client, _ in self._ports]

    def _member(self, number: int) -> EtcdMember:
        client, peer = self._ports[number]
        folder = self._folder / "etcd"
        folder.mkdir(exist_ok=True)
        flags = ("--listen-peer-urls", f"http://127.0.0.1:{peer}", "--quota-backend-bytes", str(6 * 1024**3))
        if "--unsafe-no-fsync" in _FLAGS_OF_ETCD:
            flags = ("--unsafe-no-fsync", *flags)
        member = EtcdMember(folder, *flags, name=f"m{number}", ports=(client, peer))

        def gates_of(port: int) -> list[Gate]:
            pids = [one.process.pid for one in self.members if one.process is not None]
            owner = owner_of(port, pids)
            source = next((n for n, one in enumerate(self.members) if one.process and one.process.pid == owner), None)
            return [self._peers[number], *([self._peers[source]] if source is not None else [])]

        member.peer_url = f"http://127.0.0.1:{self.network.forward(peer, gates_of)}"
        return member

    def _client_port(self, doorman: int, number: int) -> int:
        gate = self._clients[doorman][number]
        return self.network.forward(self._ports[number][0], lambda _port: [gate])

    def _doorman(self, number: int) -> Server:
        folder = self._folder / f"doorman-{number}"
        folder.mkdir(exist_ok=True)
        config = folder / "scheduler.json"
        config.write_text(json.dumps(_scheduler_config(number)))
        seconds = str(TOLERATION_SECONDS[number])
        urls = list(self._urls[number])
        return Server(
            folder, "--etcd-servers", ",".join(urls), "--data-dir", str(self._folder / "keys"),
            "--etcd-compaction-interval", "0", "--nodes", str(NODES), "--config", str(config),
            "--default-not-ready-toleration-seconds", seconds, place=(), log=self.log,
        )  # fmt: skip

    # Faults

    def fault(self) -> None:
        """One fault, or one of each kind of process at once, from its beginning to its end."""
        faults: list[Callable[[], None]] = []
        if self._rng.random() < 0.7:
            faults.append(self._member_fault())
        if not faults or self._rng.random() < 0.5:
            faults.append(self._doorman_fault())
        threads = [threading.Thread(target=fault) for fault in faults]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._wait(self._rng.uniform(0.2, 2.0))

    def _member_fault(self) -> Callable[[], None]:
        number, seconds = self._rng.randrange(MEMBERS), self._rng.uniform(0.5, 8.0)
        kind = self._rng.choice(("killed", "stopped", "cut off from members", "cut off from Doormen", "no quorum"))
        self.counts[f"member {kind}" if kind != "no quorum" else kind] += 1
        member, others = self.members[number], [one for one in self.members if one is not self.members[number]]

        def kill() -> None:
            member.stop()
            self._wait(seconds)
            member.start(self.members)
            member.wait()

        def cut_from_doormen() -> None:
            for gates in self._clients:
                gates[number].shut()
            self._wait(seconds)
            for gates in self._clients:
                gates[number].open()

        def cut_from_members() -> None:
            self._peers[number].shut()
            self._wait(seconds)
            self._peers[number].open()

        table = {
            "killed": kill,
            "stopped": lambda: self._stopped(self._pids([member]), seconds),
            "cut off from members": cut_from_members,
            "cut off from Doormen": cut_from_doormen,
            "no quorum": lambda: self._stopped(self._pids(others), seconds),
        }
        return table[kind]

    def _doorman_fault(self) -> Callable[[], None]:
        number = self._rng.randrange(DOORMEN)
        kind = self._rng.choice(("killed", "ended", "stopped", "stopped for long", "cut off from etcd"))
        seconds = self._rng.uniform(16.0, 30.0) if kind == "stopped for long" else self._rng.uniform(0.5, 9.0)
        self.counts[f"Doorman {kind}"] += 1
        server = self.doormen[number]

        def again(how: int) -> None:
            server.stop(how, seconds_max=60)
            server.__exit__(None, None, None)
            self._wait(seconds / 4)
            self.doormen[number] = self._doorman(number)

        def cut() -> None:
            for gate in self._clients[number]:
                gate.shut()
            self._wait(seconds)
            for gate in self._clients[number]:
                gate.open()

        pids = [server.process.pid, *server.children()]
        table = {
            "killed": lambda: again(signal.SIGKILL),
            "ended": lambda: again(signal.SIGTERM),
            "stopped": lambda: self._stopped(pids, seconds),
            "stopped for long": lambda: self._stopped(pids, seconds),
            "cut off from etcd": cut,
        }
        return table[kind]

    def _pids(self, members: list[EtcdMember]) -> list[int]:
        return [one.process.pid for one in members if one.process is not None]

    def _stopped(self, pids: list[int], seconds: float) -> None:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        self._wait(seconds)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    def _wait(self, seconds: float) -> None:
        self._pause.wait(seconds)

    def close(self) -> None:
        for server in self.doormen:
            if server.process.poll() is None:
                server.stop(signal.SIGKILL)
            server.__exit__(None, None, None)
        for member in self.members:
            member.stop()
        self.network.close()
        self.log.close()


def _scheduler_config(number: int) -> dict[str, object]:
    """Each Doorman's scheduler has half of the nodes."""
    own = [f"node-{1 + number * NODES // DOORMEN + index}" for index in range(NODES // DOORMEN)]
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": own}]}]
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinity": affinity}}],
            }
        ],
    }


def scheduled_by(node: str) -> int:
    """Whose scheduler places pods on a node."""
    return (int(node.removeprefix("node-")) - 1) * DOORMEN // NODES
