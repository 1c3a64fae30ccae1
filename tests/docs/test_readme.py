"""The README's Python examples are true."""

import doctest
from pathlib import Path


def test_python_examples_of_the_readme() -> None:
    found = doctest.testfile(str(Path(__file__).parents[2] / "README.md"), module_relative=False)
    assert found.attempted >= 7
    assert found.failed == 0
