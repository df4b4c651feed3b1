"""Taints on the command line: read, and applied, as kubectl and karmadactl do."""

import pytest

from atoll.cli.taint import read_changes
from atoll.errors import UsageError

OLD = [{"key": "a", "value": "1", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]


@pytest.mark.parametrize(
    ("words", "overwrites", "called", "expected"),
    [
        pytest.param(["b:NoSchedule"], False, "tainted", ["b:NoSchedule", *"12"], id="new"),
        pytest.param(["a=2:NoSchedule"], True, "modified", ["a=2:NoSchedule", "2"], id="replaced"),
        pytest.param(["a:NoSchedule-"], False, "untainted", ["2"], id="removed"),
        pytest.param(["a=other:NoExecute-"], False, "untainted", ["1"], id="whatever-value"),
        pytest.param(["a-"], False, "untainted", [], id="all-of-a-key"),
        pytest.param(
            ["b:NoSchedule", "a:NoExecute-"], False, "modified", ["b:NoSchedule", "1"], id="both"
        ),
    ],
)
def test_taints_are_set_and_removed(
    words: list[str], *, overwrites: bool, called: str, expected: list[str]
) -> None:
    changes = read_changes(words)
    known = {"1": OLD[0], "2": OLD[1]}
    wanted = [known[each] if each in known else read_changes([each]).added[0] for each in expected]
    assert changes.apply("c", OLD, overwrites=overwrites) == wanted
    assert changes.called(overwrites=overwrites) == called


@pytest.mark.parametrize(
    ("word", "says"),
    [
        pytest.param("a", "is no taint", id="no-effect"),
        pytest.param("a=b", "is no taint", id="only-a-value"),
        pytest.param(":NoSchedule", "is no taint", id="no-key"),
        pytest.param("a=b=c:NoSchedule", "is no taint", id="two-values"),
        pytest.param("a:NoSchedule:NoExecute", "is no taint", id="two-effects"),
        pytest.param("a:Never", '"Never" is no effect', id="another-effect"),
        pytest.param("a:-", '"" is no effect', id="empty-effect"),
    ],
)
def test_what_is_no_taint_is_refused(word: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_changes([word])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(["a:NoSchedule", "a=2:NoSchedule"], "already", id="twice"),
        pytest.param(["a:NoSchedule", "a-"], "cannot be set and removed", id="set-and-removed"),
    ],
)
def test_words_that_contradict_each_other_are_refused(words: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_changes(words)


def test_nothing_is_overwritten_unasked_and_nothing_removed_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="already has a taint"):
        read_changes(["a=2:NoSchedule"]).apply("c", OLD, overwrites=False)
    with pytest.raises(UsageError, match='taint "b:NoSchedule" not found'):
        read_changes(["b:NoSchedule-"]).apply("c", OLD, overwrites=False)
