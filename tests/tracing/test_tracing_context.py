"""Where in a trace something happens, as it is written on Works."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.tracing.context import Context, Mark, read_context, read_mark

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def hexadecimal(digits: int) -> st.SearchStrategy[str]:
    return st.integers(1, 16**digits - 1).map(lambda number: f"{number:0{digits}x}")


CONTEXTS = st.builds(Context, hexadecimal(32), hexadecimal(16), st.booleans())


@given(CONTEXTS, st.integers(0, 4_000_000_000))
def test_what_was_written_is_read_again(context: Context, since: int) -> None:
    mark = Mark(context, float(since))
    assert read_context(str(context)) == context
    assert read_mark(str(mark)) == mark


@given(st.text())
def test_whatever_stands_there_is_a_mark_or_none(written: str) -> None:
    assert read_mark(written) is None or "-" in written


def test_a_context_is_written_as_w3c_does() -> None:
    assert str(Context(TRACE, SPAN)) == f"00-{TRACE}-{SPAN}-01"
    assert str(Context(TRACE, SPAN, sampled=False)) == f"00-{TRACE}-{SPAN}-00"


@pytest.mark.parametrize(
    ("written", "flags"),
    [
        pytest.param(f"00-{TRACE}-{SPAN}-01", 1, id="sampled"),
        pytest.param(f"00-{TRACE}-{SPAN}-02", 0, id="another flag"),
        pytest.param(f"cc-{TRACE}-{SPAN}-01-what-comes", 1, id="a version that is to come"),
        pytest.param(f"00-{TRACE}-{SPAN}-01-more", None, id="more than this version has"),
        pytest.param(f"ff-{TRACE}-{SPAN}-01", None, id="no version"),
        pytest.param(f"00-{'0' * 32}-{SPAN}-01", None, id="no trace"),
        pytest.param(f"00-{TRACE}-{'0' * 16}-01", None, id="no span"),
        pytest.param(f"00-{TRACE.upper()}-{SPAN}-01", None, id="capital letters"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_a_traceparent_is_read_as_the_standard_wants_it(written: str, flags: int | None) -> None:
    expected = None if flags is None else Context(TRACE, SPAN, bool(flags))
    assert read_context(written) == expected


@pytest.mark.parametrize(
    "since", ["", "yesterday", "2026-01-01T00:00:00", "9999999-01-01T00:00:00Z"]
)
def test_a_mark_without_a_time_is_none(since: str) -> None:
    assert read_mark(f"00-{TRACE}-{SPAN}-01 {since}") is None
