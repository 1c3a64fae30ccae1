"""The Python examples of README and docs are true."""

import doctest
from pathlib import Path


def test_python_examples_of_the_readme() -> None:
    found = doctest.testfile(str(Path(__file__).parents[2] / "README.md"), module_relative=False)
    assert found.attempted >= 7
    assert found.failed == 0


def test_python_examples_of_docs() -> None:
    found = doctest.testfile(str(Path(__file__).parents[2] / "docs" / "testing.md"), module_relative=False)
    assert found.attempted >= 3
    assert found.failed == 0
