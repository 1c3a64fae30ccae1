"""Annotations that cannot be obeyed are told once for each mistake."""

from typing import Any

import msgspec

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.nodes.annotation_warnings import AnnotationWarnings
from support.objects import pod


def node(**annotations: str) -> Node:
    marks = {f"doorman.dev/{name}": value for name, value in annotations.items()}
    return msgspec.convert({"metadata": {"name": "n", "annotations": marks}}, Node)


def view(**annotations: str) -> Pod:
    marks: dict[str, Any] = {f"doorman.dev/{name}": value for name, value in annotations.items()}
    return msgspec.convert(pod("p", "n", metadata={"uid": "u", "annotations": marks}), Pod)


def test_node_is_told_once_until_it_says_something_else() -> None:
    complaints = AnnotationWarnings()
    (event,) = complaints.about_node(node(silent="yes"), "also this")
    assert (event.type, event.reason) == ("Warning", "InvalidSimulation")
    assert event.message == 'Cannot simulate: also this; doorman.dev/silent: want "true" or "false", not "yes"'
    assert not complaints.about_node(node(silent="yes"), "also this")
    assert complaints.about_node(node(silent="yes"))
    assert not complaints.about_node(node(silent="true"))
    assert complaints.about_node(node(silent="yes"))


def test_pod_is_told_of_all_its_mistakes_at_once() -> None:
    complaints = AnnotationWarnings()
    (event,) = complaints.about_pod(view(startup="soon", termination="-1s"))
    assert event.message == (
        'Cannot simulate: doorman.dev/startup: time: invalid duration "soon"; '
        'doorman.dev/termination: must not be negative: "-1s"'
    )
    assert not complaints.about_pod(view(startup="soon", termination="-1s"))
    complaints.forget("u")
    assert complaints.about_pod(view(startup="soon"))
    assert not complaints.about_pod(view(startup="2s"))
