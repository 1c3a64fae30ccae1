"""docs/commands.md is what the commands say of themselves."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "commands.md"


def test_page_is_what_the_commands_say(tmp_path: Path) -> None:
    made = tmp_path / "commands.md"
    subprocess.run([sys.executable, ROOT / "scripts" / "command_reference.py", made], check=True, timeout=120)
    assert PAGE.read_text() == made.read_text(), "scripts/docs reference renews it"
