"""Impersonation: who one becomes, and what that takes."""

from collections.abc import Mapping

import pytest

from doorman.base.errors import ApiError
from doorman.server.auth.impersonation import rights_needed, target_of
from support.api import running_api


@pytest.mark.parametrize(
    ("headers", "name", "groups"),
    [
        pytest.param({"impersonate-user": "jane"}, "jane", ("system:authenticated",), id="user"),
        pytest.param(
            {"impersonate-user": "jane", "impersonate-group": "a\nb"}, "jane", ("a", "b", "system:authenticated"),
            id="groups",
        ),
        pytest.param(
            {"impersonate-user": "system:serviceaccount:ns:x"}, "system:serviceaccount:ns:x",
            ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"), id="account",
        ),
        pytest.param(
            {"impersonate-user": "system:serviceaccount:ns:x", "impersonate-group": "a"}, "system:serviceaccount:ns:x",
            ("a", "system:authenticated"), id="account-with-groups",
        ),
        pytest.param(
            {"impersonate-user": "system:anonymous"}, "system:anonymous", ("system:unauthenticated",), id="anonymous"
        ),
        pytest.param({"impersonate-user": "jane\nroot"}, "jane", ("system:authenticated",), id="sent-twice"),
    ],
)  # fmt: skip
def test_target_has_name_and_groups(headers: Mapping[str, str], name: str, groups: tuple[str, ...]) -> None:
    target = target_of(headers)
    assert (target.name, target.groups) == (name, groups)


@pytest.mark.parametrize(
    "headers",
    [{"impersonate-group": "a"}, {"impersonate-uid": "1"}, {"impersonate-extra-scopes": "x"}],
    ids=lambda headers: next(iter(headers)),
)
def test_without_a_user_there_is_nobody_to_be(headers: Mapping[str, str]) -> None:
    with pytest.raises(ApiError) as caught:
        target_of(headers)
    assert caught.value.code == 400


def test_who_names_nobody_stays_who_he_is() -> None:
    assert target_of({"impersonate-user": ""}) is None


def test_everything_taken_on_is_a_right_of_its_own() -> None:
    headers = {
        "impersonate-user": "jane",
        "impersonate-group": "a\nb",
        "impersonate-uid": "7",
        "impersonate-extra-example.com%2fscopes": "x",
    }
    needed = [(i.group, i.resource, i.subresource, i.name, i.verb) for i in rights_needed(headers)]
    group = "authentication.k8s.io"
    assert needed == [
        ("", "users", "", "jane", "impersonate"),
        ("", "groups", "", "a", "impersonate"),
        ("", "groups", "", "b", "impersonate"),
        (group, "userextras", "example.com/scopes", "x", "impersonate"),
        (group, "uids", "", "7", "impersonate"),
    ]


async def test_one_may_become_only_whom_one_may() -> None:
    async with running_api() as api:
        await api.given_account("boss")
        rules = [{"apiGroups": [""], "resources": ["users"], "resourceNames": ["jane"], "verbs": ["impersonate"]}]
        await api.given_role("r", "system:serviceaccount:default:boss", rules)
        token = await api.given_token("boss")
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        status, answer = await api.call("POST", path, body, token=token, user="jane")
        assert status == 201
        assert answer["status"]["userInfo"]["username"] == "jane"
        status, answer = await api.call("POST", path, body, token=token, user="root")
        assert status == 403
        assert answer["message"] == (
            'users "root" is forbidden: User "system:serviceaccount:default:boss" cannot impersonate resource "users" '
            'in API group "" at the cluster scope'
        )
        status, answer = await api.call("POST", path, body, token=token, user="jane", groups=["system:masters"])
        assert status == 403
        assert 'groups "system:masters" is forbidden' in answer["message"]
