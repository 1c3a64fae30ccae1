"""What stores refuse, in words, and as errors that clients are told."""

from doorman.base.errors import ApiError
from doorman.store.store_contract import Compacted, Conflict, Entry, Failed, StoreError, Unusable


def test_conflict_names_what_was_expected_and_what_is_there() -> None:
    entry = Entry("pods/a/x", b"{}", 7, 3)
    assert str(Conflict("pods/a/x", 5, entry)) == "pods/a/x: expected revision 5, found 7"
    assert Conflict("pods/a/x", 5, entry).current is entry
    assert str(Conflict("pods/a/x", 5, None)) == "pods/a/x: expected revision 5, found 0"


def test_compacted_tells_from_where_on_there_is_something() -> None:
    error = Compacted(3, 10)
    assert (str(error), error.oldest) == ("revision 3 is older than 10", 10)


def test_unusable_has_a_hint() -> None:
    assert Unusable("no", "try").hint == "try"


def test_failure_of_the_disk_is_told_to_clients_as_a_fault_of_ours() -> None:
    error = Failed("the disk is full")
    assert isinstance(error, ApiError)
    assert isinstance(error, StoreError)
    assert (error.code, error.reason) == (500, "InternalError")
    assert "the disk is full" in error.message
