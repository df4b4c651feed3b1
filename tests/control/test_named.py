"""Keys are found by what they name, as if all of them were asked."""

from hypothesis import given
from hypothesis import strategies as st

from atoll.model.named import Named

values = st.sampled_from("uvw")
puts = st.lists(st.tuples(st.sampled_from("abc"), st.lists(values, max_size=4)), max_size=12)


@given(puts, st.lists(values, max_size=3))
def test_keys_are_found_by_what_they_name_and_the_last_put_comes_last(
    history: list[tuple[str, list[str]]], asked: list[str]
) -> None:
    index, there = Named[str, str](), dict[str, list[str]]()
    for key, named in history:
        index.put(key, named)
        there.pop(key, None)
        if named:
            there[key] = named
    for value in "uvw":
        assert index.naming(value) == [key for key, named in there.items() if value in named]
        assert index.count(value) == len(index.naming(value))
    found = index.naming(*asked)
    assert {*found} == {key for key, named in there.items() if not {*asked}.isdisjoint(named)}
    assert len(found) == len({*found})
    assert len(index) == len(there)
    for key in there:
        index.put(key)
    assert not index
    assert not index._by_value, "nothing is kept of what is gone"
