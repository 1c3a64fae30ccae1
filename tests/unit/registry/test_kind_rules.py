"""What a kind itself has to say to a document."""

import pytest

from doorman.api.kinds import builtin_kinds, type_table
from doorman.api.machinery.schema import Schema
from doorman.api.patch.managed_fields import Manager
from doorman.base.errors import ApiError
from doorman.registry.kind_rules import KindRules, Unchanged
from doorman.registry.write_target import WriteTarget

KINDS = builtin_kinds()
RULES = KindRules(Schema(type_table()), KINDS, comparison_operators=True)
MANAGER = Manager(name="m", operation="Update", api_version="v1", subresource="")


def test_default_fills_in_and_completes() -> None:
    doc = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    RULES.default(KINDS.named("services"), doc, 0.0)
    spec = doc["spec"]
    assert (spec["type"], spec["ports"][0]["protocol"], doc["status"]) == ("ClusterIP", "TCP", {"loadBalancer": {}})


def test_invalid_object_is_refused_by_its_name() -> None:
    doc = {"metadata": {"name": "c", "uid": "u"}, "data": {"bad key": "v"}}
    with pytest.raises(ApiError) as refused:
        RULES.before_create(KINDS.named("configmaps"), doc, 0.0)
    assert (refused.value.code, refused.value.causes[0].field) == (422, "data[bad key]")


def test_each_cause_is_told_once() -> None:
    doc = {"metadata": {"name": "c", "uid": "u", "labels": {"a": "-", "b": "-", "c": "-x"}}}
    with pytest.raises(ApiError) as refused:
        RULES.before_create(KINDS.named("configmaps"), doc, 0.0)
    assert [cause.message.partition(":")[2][:5] for cause in refused.value.causes] == [' "-":', ' "-x"']


def test_update_that_changes_nothing_says_so() -> None:
    kind = KINDS.named("configmaps")
    old = {"metadata": {"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "7"}, "data": {"k": "v"}}
    new = {"metadata": dict(old["metadata"]), "data": {"k": "v"}}
    with pytest.raises(Unchanged):
        RULES.before_update(WriteTarget(kind, "", "c"), new, old, MANAGER, 0.0)


def test_what_a_webhook_made_is_looked_at_as_if_a_client_had_sent_it() -> None:
    kind = KINDS.named("services")
    doc = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}, "nonsense": 1}
    RULES.clean_after_webhooks(kind, doc, 0.0, None)
    assert "nonsense" not in doc
    assert doc["spec"]["type"] == "ClusterIP"
    with pytest.raises(ApiError, match="a webhook made no Service"):
        RULES.clean_after_webhooks(kind, {"metadata": {"name": "s"}, "spec": 7}, 0.0, None)


def test_built_in_kinds_weigh_what_they_weigh() -> None:
    assert RULES.weight(KINDS.named("services"), 5) == 5


def test_update_is_no_other_when_python_takes_it_for_equal() -> None:
    kind = KINDS.named("configmaps")
    old = {"metadata": {"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "7"}, "immutable": False}
    RULES.before_update(
        WriteTarget(kind, "", "c"), {**old, "metadata": {**old["metadata"]}, "immutable": 0}, old, MANAGER, 0.0
    )
