"""The forms of a log: one line for each event, with its values by name where the form has names."""

import json
import logging
import shlex
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import Shell

from atoll.cli import logs
from atoll.cli.options import LOG_FORMATS as FORMS
from atoll.model.action import Ref

NAMES = st.sampled_from(["cluster", "err", "msg", "level", "binding"])
VALUES = st.text() | st.integers() | st.none() | st.floats(allow_nan=False, allow_infinity=False)
BINDING = Ref("work.karmada.io/v1alpha2", "ResourceBinding", "shop", "web-deployment")


def written(form: str, sentence: str, values: dict[str, Any], **more: Any) -> str:
    """The line of an event."""
    logger = logging.getLogger("atoll.test")
    args = (values,) if values else ()
    record = logger.makeRecord("atoll.test", logging.WARNING, "f", 1, sentence, args, None, **more)
    return logs.FORMS[form]().format(record)


def failed() -> Any:
    try:
        raise ValueError("no\nway")
    except ValueError:
        return sys.exc_info()


def test_the_forms_that_may_be_asked_for_are_those_there_are() -> None:
    assert tuple(logs.FORMS) == FORMS


def test_text_has_the_header_of_kubernetes_parts_and_the_sentence() -> None:
    line = written("text", "Cluster %(cluster)s is gone", {"cluster": "east"})
    header, _, said = line.partition("] ")
    letter, _clock, _process, name = header.split()
    assert (letter[0], name, said) == ("W", "atoll.test", "Cluster east is gone")


def test_json_has_the_sentence_and_every_value_by_name() -> None:
    values = {"cluster": "east", "binding": BINDING, "err": OSError("cut"), "again_s": 0.5}
    found = json.loads(written("json", "%(cluster)s: %(err)s", values))
    assert found.pop("ts").endswith("Z")
    assert found == {
        "level": "warning",
        "logger": "atoll.test",
        "msg": "east: cut",
        "cluster": "east",
        "binding": "shop/web-deployment",
        "err": "cut",
        "again_s": 0.5,
    }


def test_logfmt_has_the_same() -> None:
    values = {"cluster": "east", "binding": BINDING, "err": 'a "b"'}
    pairs = shlex.split(written("logfmt", "Gone: %(cluster)s", values))
    found = dict(each.split("=", 1) for each in pairs)
    assert found.pop("ts").endswith("Z")
    assert found == {
        "level": "warning",
        "logger": "atoll.test",
        "msg": "Gone: east",
        "cluster": "east",
        "binding": "shop/web-deployment",
        "err": 'a "b"',
    }


@pytest.mark.parametrize("form", FORMS)
def test_a_failure_is_one_line_too(form: str) -> None:
    logger = logging.getLogger("atoll.test")
    record = logger.makeRecord("atoll.test", logging.ERROR, "f", 1, "Failed", (), failed())
    line = logs.FORMS[form]().format(record)
    assert "ValueError: no" in line
    assert "test_cli_logs.py" in line
    assert "\n" not in line


@given(st.sampled_from(FORMS), st.dictionaries(NAMES, VALUES, min_size=1))
def test_whatever_is_said_is_one_line(form: str, values: dict[str, Any]) -> None:
    said = " ".join(f"%({name})s" for name in values)
    line = written(form, said, values)
    assert "\n" not in line
    if form == "json":
        assert json.loads(line)["level"] == "warning"


def test_a_server_writes_its_log_as_it_is_told(shell: Shell) -> None:
    assert shell.atoll("up", "--logging-format", "json", "-v", "4").code == 0
    try:
        lines = (shell.data / "atoll.log").read_text().splitlines()
        found = [json.loads(line) for line in lines]
    finally:
        shell.atoll("down")
    (serving,) = [each for each in found if each["msg"].startswith("Serving at ")]
    assert serving["url"].startswith("https://127.0.0.1:")
    assert shell.atoll("up", "--logging-format", "xml").code == 2
