"""Comments that keep findings quiet."""

import pytest

from support.linting import ids

POD = """apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec:
  containers: []
  tolerations:
    {above}
    - operator: Exists{beside}
    - key: k
      value: true
"""


@pytest.mark.parametrize(
    ("above", "beside", "found"),
    [
        ("# nothing", "", ["DM004:8", "DM017:10"]),
        ("# nothing", "  # doorman: ignore DM004", ["DM017:10"]),
        ("# nothing", "  # doorman: ignore DM017", ["DM004:8", "DM017:10"]),
        ("# nothing", "  # doorman: ignore", ["DM017:10"]),
        ("# doorman: ignore DM004 because it is the log shipper", "", ["DM017:10"]),
        ("# doorman: ignore DM003,DM004", "", ["DM017:10"]),
        ("# doorman: ignored", "", ["DM004:8", "DM017:10"]),
    ],
)
def test_comment_is_for_its_line(above: str, beside: str, found: list[str]) -> None:
    assert ids(POD.format(above=above, beside=beside), select=("DM004", "DM017")) == found


def test_comment_before_the_first_member_is_for_its_document_only() -> None:
    pod = POD.format(above="#", beside="")
    text = f"# doorman: ignore DM004\n{pod}---\n# doorman: ignore DM017\n\n{pod}"
    assert ids(text, select=("DM004", "DM017")) == ["DM017:11", "DM004:22"]


@pytest.mark.parametrize(
    ("annotation", "found"),
    [("DM004", ["DM017:10"]), ('"DM004,DM017"', []), ('"*"', []), ("DM001", ["DM004:8", "DM017:10"])],
)
def test_annotation_is_for_its_object(annotation: str, found: list[str]) -> None:
    pod = POD.format(above="#", beside="")
    said = pod.replace("{name: web}", f"{{name: web, annotations: {{doorman.dev/lint-ignore: {annotation}}}}}")
    assert ids(said, select=("DM004", "DM017")) == found
