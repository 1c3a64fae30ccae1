"""Hours of taints, failures, rollouts and scaling in virtual time; see soak.py for longer runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parent / "soak.py"


def digest(seed: int, hash_seed: str) -> str:
    command = [sys.executable, str(SOAK), "--seed", str(seed), "--nodes", "8", "--pods", "60", "--hours", "3"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": hash_seed}, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_disturbed_cluster_keeps_its_promises_and_one_seed_gives_one_run(seed: int) -> None:
    assert digest(seed, "1") == digest(seed, "2")
