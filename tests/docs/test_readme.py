"""The Python examples of README and docs are true."""

import doctest
import subprocess
import sys
from pathlib import Path


def test_python_examples_of_the_readme() -> None:
    found = doctest.testfile(str(Path(__file__).parents[2] / "README.md"), module_relative=False)
    assert found.attempted >= 7
    assert found.failed == 0


def test_python_examples_of_docs() -> None:
    found = doctest.testfile(str(Path(__file__).parents[2] / "docs" / "testing.md"), module_relative=False)
    assert found.attempted >= 3
    assert found.failed == 0


def test_lint_page_shows_what_lint_prints(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "lint.md").read_text()
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "web.yaml").write_text((Path(__file__).parent / "lint-example.yaml").read_text())
    command = [sys.executable, "-m", "doorman", "lint", "shop"]
    printed = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60).stdout
    assert f"$ doorman lint shop\n{printed}```" in page
