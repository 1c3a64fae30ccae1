"""A few kills of real processes under load; kills.py does hundreds."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_by_kills() -> None:
    command = [sys.executable, str(Path(__file__).parent / "kills.py"), "--kills", "8", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lost: 0" in done.stdout


@pytest.mark.slow
def test_disturbance_in_real_time_leaves_nothing_behind() -> None:
    command = [sys.executable, str(Path(__file__).parent / "real_time_soak.py"), "--minutes", "0.1", "--seed", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAULT" not in done.stdout
