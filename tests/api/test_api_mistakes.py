"""What is said against mistakes: the same status, reason and words from every server.

The mistakes are those of tests/kinds, which also has what a real kube-apiserver said of them.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from backends import Backend

from atoll.wire import Wire

KINDS = Path(__file__).parents[1] / "kinds"
RECORDED = json.loads((KINDS / "recorded" / "mistakes.json").read_text())
# It checks these maps in a random order.
UNORDERED = ("bad template labels", "an unknown quota", "odd amounts")
# Other rules come first here: accounts of pods, names of events, ranges of addresses.
ELSEWHERE = ("/pods", "/events", "/nodes", "/services")


def mistakes() -> list[Any]:
    """Those of new objects, for what is said of changes depends on what was there before."""
    documents = yaml.safe_load_all((KINDS / "mistakes.yaml").read_text())
    return [
        pytest.param(mistake, id=mistake["id"])
        for mistake in documents
        if "then" not in mistake and not mistake["resource"].endswith(ELSEWHERE)
    ]


@pytest.fixture(scope="module")
def demo(api: Backend) -> str:
    """A namespace for what is never stored."""
    made = api.request("POST", "/api/v1/namespaces", body={"metadata": {"name": "mistakes"}})
    assert made.status in (201, 409)  # both of ours are one server
    return "mistakes"


@pytest.mark.parametrize("mistake", mistakes())
def test_a_mistake_is_refused_in_the_same_words(api: Backend, demo: str, mistake: Any) -> None:
    path = mistake["resource"].replace("/demo/", f"/{demo}/") + "?dryRun=All"
    answer = api.request("POST", path, body=mistake["object"])
    details = answer.refusal(422, "Invalid")
    said, recorded = answer.json()["message"], RECORDED[mistake["id"]]
    if mistake["id"] in UNORDERED:
        said, recorded = sorted(said), sorted(recorded)
    assert uncut(said, mistake["id"]) == uncut(recorded, mistake["id"])
    assert details["name"] == mistake["object"]["metadata"]["name"]
    assert all(told(cause) in answer.json()["message"] for cause in details["causes"])


def uncut(said: Any, of: str) -> Any:
    """Up to where the server shows an id of its own."""
    if of == "a job with a selector of its own":
        return said.partition('"batch.kubernetes.io/controller-uid"')[0]
    return said


def told(cause: Wire) -> str:
    return f"{cause['field']}: {cause['message']}"
