"""A whole server under faults, in virtual time: see simulate.py for longer runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SIMULATE = Path(__file__).parent / "simulate.py"
SEEDS = sorted((Path(__file__).parent / "seeds").glob("*.json"))


def simulated(*arguments: str, hash_seed: str = "0", allocator: str = "pymalloc") -> str:
    """In a process of its own: the simulated disk is what SQLite works on there."""
    done = subprocess.run(
        [sys.executable, str(SIMULATE), *arguments, "--no-shrink", "--processes", "1"],
        capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONMALLOC": allocator},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["2", "4"])
def test_promises_hold_whatever_happens(seed: str) -> None:
    """25,000 steps each; what is checked stands in sim_clients.py, sim_truth.py and sim_workload.py."""
    told = simulated("--seed", seed, "--steps", "25000")
    assert re.search(r"[1-9]\d* starts of the server, [1-9]\d* events watched", told)


@pytest.mark.slow
def test_promises_hold_where_etcd_is_the_store() -> None:
    """Three members and two servers; what is checked besides stands in sim_etcd_truth.py."""
    told = simulated("--store", "etcd", "--seed", "2", "--steps", "10000")
    assert re.search(r"[1-9]\d* starts of the server, [1-9]\d* events watched", told)


@pytest.mark.slow
@pytest.mark.parametrize(("store", "steps"), [("sqlite", "5000"), ("etcd", "15000")])
def test_one_seed_gives_one_run(store: str, steps: str) -> None:
    """Whatever comes first in a set: neither texts nor objects have the same places in both."""
    arguments = ("--store", store, "--seed", "3", "--steps", steps)
    first, second = (
        simulated(*arguments, hash_seed=hash_seed, allocator=allocator)
        for hash_seed, allocator in (("1", "pymalloc"), ("2", "malloc"))
    )
    assert first.splitlines()[0] == second.splitlines()[0]


TWICE = """
import sys
sys.path.insert(0, sys.argv[1])
from sim.simulation import plan_of, simulate
for _ in range(2):
    print(simulate(plan_of("sqlite", 2, 6000)).digest)
"""


@pytest.mark.slow
def test_second_run_in_a_process_is_like_the_first() -> None:
    """SQLite draws the numbers in its log from one source a process."""
    command = [sys.executable, "-c", TWICE, str(SIMULATE.parents[1])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-6000:]
    first, second = done.stdout.split()
    assert first == second


@pytest.mark.slow
@pytest.mark.parametrize("file", SEEDS, ids=lambda file: file.stem)
def test_what_once_failed_holds(file: Path) -> None:
    simulated("--replay", str(file))


def test_mutants_can_be_planted() -> None:
    """What each is put in the place of is there; whether it is found takes minutes to tell."""
    mutants = Path(__file__).parent / "mutants.py"
    done = subprocess.run([sys.executable, str(mutants), "--plant"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-6000:]
