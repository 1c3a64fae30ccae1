"""Tags of images."""

from typing import Any

import pytest

from doorman.semantics.pods.image_references import image_tag


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(["nginx", "a/b/c", "localhost/x", "reg.example:5000/a"], ["latest"] * 4, id="unsaid"),
        pytest.param(["nginx:1", "reg.example:5000/a:v2"], ["1", "v2"], id="said"),
        pytest.param(["UPPER", "a..b", "/abs", "a b", "", "a:", "a/"], [""] * 7, id="no-image"),
        pytest.param(["a@sha256:" + "0" * 64, "a@sha256:00", "a:1@sha256:" + "0" * 64], ["", "", "1"], id="digests"),
    ],
)
def test_image_tag(given: Any, expected: list[str]) -> None:
    assert [image_tag(text) for text in given] == expected
