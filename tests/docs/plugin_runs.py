"""Tests of a folder, run in a process of their own with Doorman's pytest plugin from this checkout."""

import subprocess
import sys
from pathlib import Path

PLUGIN = "doorman.testing.pytest_plugin"
ENTRY_POINT = "doorman"
"""Where the package is installed, or a build left its egg-info in src, pytest finds the plugin by itself, under this
name. It refuses to load it under two.
"""


def run_pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    options = [part for plugin in ("no:cacheprovider", f"no:{ENTRY_POINT}", PLUGIN) for part in ("-p", plugin)]
    command = [sys.executable, "-m", "pytest", "-q", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
