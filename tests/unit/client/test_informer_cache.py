"""The cache of an informer beside a plain dictionary that is searched anew for every question."""

from hypothesis import given
from hypothesis import strategies as st

from doorman.client.informer_cache import InformerCache

KEYS = ("k1", "k2", "k3", "k4")
WORDS = ("", "a", "b", "ab", "ba", "abc")

_STEPS = st.lists(
    st.tuples(st.sampled_from(KEYS), st.sampled_from(WORDS) | st.none(), st.booleans()),
    max_size=30,
)


def letters(word: str) -> tuple[str, ...]:
    return tuple(word)


@given(steps=_STEPS)
def test_answers_as_a_search_would(steps: list[tuple[str, str | None, bool]]) -> None:
    cache: InformerCache[str] = InformerCache({"letter": letters})
    plain: dict[str, str] = {}
    for key, word, looks in steps:
        if word is None:
            assert cache.remove(key) == plain.pop(key, None)
        else:
            assert cache.put(key, word) == plain.get(key)
            plain[key] = word
        if not looks:
            continue
        assert cache.list() == [plain[one] for one in sorted(plain)]
        assert cache.list() is cache.list()
        assert len(cache) == len(plain)
        for letter in "abc":
            assert cache.by("letter", letter) == [plain[one] for one in sorted(plain) if letter in plain[one]]
        assert sorted(cache.places("letter")) == sorted({letter for one in plain.values() for letter in one})
