"""The example project of docs/testing.md. CI runs it from an installed wheel besides (scripts/check-wheel)."""

import subprocess
import sys
from pathlib import Path

import pytest

from docs.plugin_runs import run_pytest

PROJECT = Path(__file__).parents[2] / "examples" / "pytest-project"


@pytest.mark.slow
def test_example_project_passes_with_the_plugin() -> None:
    ran = run_pytest(PROJECT)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_plugin_loads_nothing_of_the_control_plane() -> None:
    code = (
        "import sys, doorman.testing.pytest_plugin; print([name for name in sys.modules if name == 'doorman.runtime'])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "[]\n", ran.stderr
