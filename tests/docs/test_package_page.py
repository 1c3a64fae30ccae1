"""What a package index shows of the wheel: its long description, whose links lead somewhere, and its commands."""

import importlib.util
import re
import shutil
import subprocess
import sys
from email import message_from_string
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")


@pytest.fixture(scope="module")
def recipe() -> ModuleType:
    spec = importlib.util.spec_from_file_location("package_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "repository", "shown"),
    [
        pytest.param("[docs/plan.md](docs/plan.md)", "", "docs/plan.md", id="relative-without-repository"),
        pytest.param(
            "[plan](docs/plan.md)", "https://h/o/r", "[plan](https://h/o/r/blob/HEAD/docs/plan.md)", id="relative"
        ),
        pytest.param("[a table](#speed)", "", "a table", id="heading-without-repository"),
        pytest.param("[a table](#speed)", "https://h/o/r", "[a table](https://h/o/r#speed)", id="heading"),
        pytest.param("[CEL](https://cel.dev)", "", "[CEL](https://cel.dev)", id="absolute"),
        pytest.param("a\n<!-- transcript: --nodes 3 -->\nb", "", "a\nb", id="mark-of-a-test"),
    ],
)
def test_link_leads_somewhere(recipe: ModuleType, text: str, repository: str, shown: str) -> None:
    assert recipe.index_readme(text, repository) == shown


@pytest.mark.slow
def test_metadata_of_the_wheel(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "requirements.in"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "src" / "doorman").mkdir(parents=True)
    shutil.copy(ROOT / "src" / "doorman" / "version.py", tmp_path / "src" / "doorman")
    (tmp_path / "out").mkdir()
    code = "from setuptools import build_meta; build_meta.prepare_metadata_for_build_wheel('out')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    (made,) = (tmp_path / "out").glob("*.dist-info")
    metadata = message_from_string((made / "METADATA").read_text())
    assert metadata["Description-Content-Type"] == "text/markdown"
    page = metadata.get_payload()
    assert "# Doorman" in page
    assert [target for target in LINK.findall(page) if not target.startswith("https://")] == []
    commands = (made / "entry_points.txt").read_text()
    assert "\ndoorman = doorman.__main__:start\nkube-doorman = doorman.__main__:start\n" in commands
