"""Random sessions and histories on both servers at once: every answer must be the same.

Search longer with `pytest tests/api/test_side_by_side.py --hypothesis-profile=long --timeout=0`.
"""

import itertools
import time

import pytest
from backends import Answer, Backend
from histories import Move, asked, histories, needs_live
from history_kinds import DEFINITION, KINDS, STRUCTURES
from hypothesis import given, settings
from likeness import comparable
from sessions import session
from transports import HttpBackend, ProcessBackend

SEEDS = range(25)
STEPS = 30
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
READY_S = 120.0
# Each example is dozens of requests to both; `long` searches for as long as it takes.
USUAL = settings.default.max_examples == settings.get_profile("default").max_examples
EXAMPLES = 30 if USUAL else settings.default.max_examples

_names = itertools.count(1)


@pytest.mark.testenv
@pytest.mark.parametrize("seed", SEEDS)
def test_both_servers_give_the_same_answers(
    in_process: ProcessBackend, real: HttpBackend, unique: str, seed: int
) -> None:
    both: tuple[Backend, Backend] = (in_process, real)
    for backend in both:
        backend.create("/api/v1/namespaces", {"metadata": {"name": unique}})
    for step in session(seed, STEPS):
        headers = {"content-type": step.content_type} if step.content_type else {}
        path = step.path.format(unique)
        ours, theirs = (
            backend.request(step.method, path, body=step.body, headers=headers) for backend in both
        )
        assert comparable(ours) == comparable(theirs), step


@pytest.fixture(scope="module")
def both(in_process: ProcessBackend, real: HttpBackend) -> tuple[Backend, Backend]:
    """Both servers, with a namespace and a kind for histories."""
    for backend in (in_process, real):
        backend.create("/api/v1/namespaces", {"metadata": {"name": "histories"}})
        backend.create(CRDS, DEFINITION)
        deadline = time.monotonic() + READY_S
        while backend.request("GET", STRUCTURES.format("histories")).status != 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    return in_process, real


@pytest.mark.testenv
@settings(max_examples=EXAMPLES)
@given(history=histories())
def test_an_object_has_the_same_history_on_both_servers(
    both: tuple[Backend, Backend], history: tuple[str, list[Move]]
) -> None:
    kind, moves = history
    name = f"object-{next(_names)}"
    for move in moves:
        ours, theirs = (_answer(backend, kind, name, move) for backend in both)
        assert comparable(ours) == comparable(theirs)


def _answer(backend: Backend, kind: str, name: str, move: Move) -> Answer:
    live = None
    if needs_live(move):
        path = KINDS[kind].root.replace("VERSION", move.version).format("histories")
        read = backend.request("GET", f"{path}/{name}")
        live = read.json() if read.status == 200 else None
    asking = asked(kind, name, move, live)
    return backend.request(
        asking.method,
        asking.path.format("histories"),
        body=asking.body,
        headers={"content-type": asking.content_type},
    )
