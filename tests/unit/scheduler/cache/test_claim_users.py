"""Which waiting pods use which claims."""

from doorman.scheduler.cache.claim_users import ClaimUsers


def test_claim_finds_all_its_pods_until_they_wait_no_longer() -> None:
    users = ClaimUsers()
    users.pod_waits("default/p", ("default/a", "default/b"))
    users.pod_waits("default/q", ("default/a",))
    assert users.of("default/a") == {"default/p", "default/q"}
    users.pod_ends_waiting("default/p")
    assert users.of("default/a") == {"default/q"}
    assert users.of("default/b") == frozenset()


def test_newest_claims_of_a_pod_replace_those_it_had() -> None:
    users = ClaimUsers()
    users.pod_waits("default/p", ("default/a",))
    users.pod_waits("default/p", ("default/b",))
    assert users.of("default/a") == frozenset()
    assert users.of("default/b") == {"default/p"}
    users.pod_waits("default/p", ())
    assert users.of("default/b") == frozenset()


def test_claim_that_a_pod_names_twice_has_it_once() -> None:
    users = ClaimUsers()
    users.pod_waits("default/p", ("default/a", "default/a"))
    assert users.of("default/a") == {"default/p"}
    users.pod_ends_waiting("default/p")
    assert users.of("default/a") == frozenset()


def test_pod_without_claims_leaves_no_trace() -> None:
    users = ClaimUsers()
    users.pod_waits("default/p", ())
    users.pod_ends_waiting("default/p")
    assert vars(users) == vars(ClaimUsers())
