"""`scripts/setup`: one that is interrupted is repaired by the next, and of two at once one waits."""

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "setup"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that needs nothing, so that setting it up takes seconds."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "requirements.txt").touch()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    return tmp_path


def start(project: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [project / "scripts" / "setup", "run"], cwd=project, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def first_line(setup: "subprocess.Popen[str]") -> str:
    assert setup.stderr is not None
    return setup.stderr.readline()


@pytest.mark.slow
def test_interrupted_set_up_says_so_and_the_next_repairs_it(project: Path) -> None:
    with start(project) as setup:
        assert first_line(setup).startswith("setting up .venv")
        subprocess.run(["kill", f"-{signal.SIGINT.value}", "--", f"-{setup.pid}"], check=True)
        _, told = setup.communicate(timeout=60)
    assert (told, setup.returncode) == ("interrupted; the next start sets up again\n", 130)
    again = subprocess.run([project / "scripts" / "setup", "run"], capture_output=True, text=True, timeout=120)
    assert again.returncode == 0, again.stderr
    assert (project / ".venv" / ".installed-run").exists()
    assert not (project / ".venv" / ".unfinished").exists()


@pytest.mark.slow
def test_of_two_at_once_one_waits(project: Path) -> None:
    with start(project) as first:
        assert first_line(first).startswith("setting up .venv")
        with start(project) as second:
            assert first_line(second) == "another set-up is under way; waiting for it ...\n"
            assert [first.wait(120), second.wait(120)] == [0, 0]


@pytest.mark.slow
def test_what_cannot_be_installed_is_told(project: Path) -> None:
    (project / "requirements.txt").write_text("./nope\n")
    told = subprocess.run([project / "scripts" / "setup", "run"], capture_output=True, text=True, timeout=120)
    assert told.returncode == 1
    assert "nope" in told.stderr
