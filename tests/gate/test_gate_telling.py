"""What a gate logs is written by the core as if it had happened there."""

import logging
import signal
from typing import Any

import pytest

from atoll.apiserver.gate import frames
from atoll.cli.logs import FORMS, fields_of
from atoll.model.action import Ref

LOGGER = "atoll.http"


def record(text: str, *args: Any, error: BaseException | None = None) -> logging.LogRecord:
    shown = (type(error), error, None) if error is not None else None
    return logging.LogRecord(LOGGER, logging.WARNING, "", 0, text, args, shown)


def over_the_line(one: logging.LogRecord, caplog: pytest.LogCaptureFixture) -> logging.LogRecord:
    caplog.set_level(logging.INFO, LOGGER)
    batch = frames.written([(frames.LOG, frames.told(one))])
    ((_, said),) = frames.read(batch[frames.HEAD_BYTES :])
    frames.write(said)
    return caplog.records[-1]


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(record("It began"), id="a sentence"),
        pytest.param(record("100% of it"), id="a sign that means something else"),
        pytest.param(record("%(n)d of %(of)s", {"n": 3, "of": "four"}), id="values"),
        pytest.param(record("Signal %(n)d", {"n": signal.SIGTERM}), id="a kind of number"),
        pytest.param(record("%(err)s", {"err": OSError("lost")}), id="an error as a value"),
        pytest.param(record("%s of %d", "three", 4), id="values without names"),
        pytest.param(record("It failed", error=OSError("lost")), id="an error"),
        pytest.param(record("100% failed", error=OSError("lost")), id="an error and a sign"),
        pytest.param(
            record("%(n)d failed", {"n": 3}, error=OSError("lost")), id="an error and values"
        ),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_it_reads_the_same(
    one: logging.LogRecord, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    there, ours = over_the_line(one, caplog), FORMS[form]()
    there.created = one.created
    assert ours.format(there) == ours.format(one)


def test_values_keep_their_names(caplog: pytest.LogCaptureFixture) -> None:
    one = record("%(n)d of %(what)s", {"n": 3, "what": Ref("v1", "Pod", "a", "b")})
    found = fields_of(over_the_line(one, caplog))
    assert (found["msg"], found["n"], found["what"]) == ("3 of Pod a/b", 3, "Pod a/b")


def test_what_cannot_be_written_does_not_end_the_line(caplog: pytest.LogCaptureFixture) -> None:
    values = {"text": "half \udc80", "n": 1 << 70}
    there = over_the_line(record("%(text)s, %(n)d", values), caplog)
    assert there.getMessage() == f"half ?, {1 << 70}"


def test_what_nobody_wants_to_know_is_not_written(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, LOGGER)
    frames.write(frames.told(record("It began")))
    assert caplog.records == []
