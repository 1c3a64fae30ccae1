"""One sequence of changes gives one sequence of decisions, whatever the hash seed."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import hashlib
from support.scheduling import Desk
desk = Desk()
for at in range(12):
    desk.node(f"n{at}", labels={"topology.kubernetes.io/zone": f"z{at % 3}"}, taints="a:PreferNoSchedule" * (at % 2))
rule = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "w"}}}
term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
for at in range(40):
    desk.pod(f"w{at}", labels={"app": "w"}, requests={"cpu": "500m"}, topologySpreadConstraints=[rule])
    desk.pod(f"x{at}", labels={"app": "x"}, requests={"cpu": "300m"}, ports=[{"hostPort": 80 + at % 3}],
             affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    desk.pod(f"h{at}", requests={"cpu": "3"}, priority=at % 4)
    desk.settle()
    if at % 7 == 0:
        desk.remove_node(f"n{at % 12}")
        desk.node(f"n{at % 12}")
    desk.settle()
told = [(name, pod.spec.node_name) for name, pod in sorted(desk.pods.items())] + sorted(desk.messages.items())
print(hashlib.sha256(repr((told, desk.attempts)).encode()).hexdigest())
"""

ROOT = Path(__file__).parents[2]


def digest(hash_seed: str) -> str:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}"}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return run.stdout


def test_decisions_do_not_depend_on_the_hash_seed() -> None:
    assert digest("1") == digest("2") != ""
