"""The life of one object of each kind, on both servers at once: every answer must be the same.

The objects are the samples that tests/kinds knows the recorded answers of.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from backends import PATCHES, Answer, Backend
from likeness import comparable
from transports import HttpBackend, ProcessBackend

from atoll.wire import Wire

SAMPLES = Path(__file__).parents[1] / "kinds" / "samples.yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
# How long it has been there, or since when: one is made a moment after the other.
AGE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\d+s")
# What acts on these is not alike on the two servers (controllers, allocators, admission), or they
# have owners that do not exist.
ELSEWHERE = (
    *("/namespaces", "/pods", "/services", "/secrets", "/events", "/nodes"),
    *("/persistentvolumes", "/persistentvolumeclaims", "/controllerrevisions", "/daemonsets"),
    *("/jobs", "/resourcequotas", "/flowschemas", "/volumeattributesclasses"),
)
# Who owns a required field that is a pointer, or null, is not told alike; and the real server finds
# out a moment later that there is a default among priorities.
OTHERWISE = ("ipaddress", "endpointslice-without", "priorityclass-low")

Move = tuple[str, str, str, Any, str]  # what is done, method, path, body, content type


def samples() -> list[Any]:
    documents = yaml.safe_load_all(SAMPLES.read_text())
    return [
        pytest.param(sample, id=sample["id"])
        for sample in documents
        if not sample["resource"].endswith(ELSEWHERE) and sample["id"] not in OTHERWISE
    ]


@pytest.fixture(scope="module")
def both(in_process: ProcessBackend, real: HttpBackend) -> tuple[Backend, Backend]:
    for backend in (in_process, real):
        backend.create("/api/v1/namespaces", {"metadata": {"name": "lives"}})
    return in_process, real


def life(sample: Any) -> list[Move]:
    """What happens to the object of a sample, from its birth to its end."""
    path = sample["resource"].replace("/demo/", "/lives/")
    obj: Wire = sample["object"]
    name = obj["metadata"]["name"]
    one = f"{path}/{name}"
    labelled = {**obj, "metadata": {**obj["metadata"], "labels": {"a": "1"}}}
    noted = {"metadata": {"annotations": {"note": "x"}}, "status": sample.get("status", {})}
    mine = {key: obj[key] for key in ("apiVersion", "kind")}
    applied = {**mine, "metadata": {"name": name, "labels": {"b": "2"}}}
    return [
        ("create", "POST", path, obj, "application/json"),
        ("create again", "POST", path, obj, "application/json"),
        ("replace", "PUT", one, labelled, "application/json"),
        ("patch", "PATCH", one, {"metadata": {"labels": {"c": "3"}}}, PATCHES["strategic"]),
        ("apply", "PATCH", f"{one}?fieldManager=me", applied, PATCHES["apply"]),
        ("tell", "PATCH", f"{one}/status", noted, PATCHES["merge"]),
        ("unlabel", "PATCH", one, [{"op": "remove", "path": "/metadata/labels"}], PATCHES["json"]),
        ("read", "GET", one, None, ""),
        ("delete", "DELETE", f"{one}?propagationPolicy=Background", None, ""),
        ("replace what is gone", "PUT", one, obj, "application/json"),
        ("clear", "DELETE", f"{one}?propagationPolicy=Background", None, ""),
    ]


@pytest.mark.testenv
@pytest.mark.parametrize("sample", samples())
def test_an_object_of_any_kind_lives_alike_on_both_servers(
    both: tuple[Backend, Backend], sample: Any
) -> None:
    for done, method, path, body, content_type in life(sample):
        headers = {"content-type": content_type} if content_type else {}
        ours, theirs = (
            backend.request(method, path, body=body, headers=headers) for backend in both
        )
        assert (done, *settled(ours)) == (done, *settled(theirs))
        if done == "tell":
            assert table_of(both[0], path) == table_of(both[1], path)


def settled(answer: Answer) -> tuple[int, str, Any]:
    """An answer without nulls: times that are not set are null on one, and absent on the other."""
    status, warnings, body = comparable(answer)
    return status, warnings, without_nulls(body)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [*map(without_nulls, value)] if isinstance(value, list) else value


def table_of(backend: Backend, path: str) -> Wire:
    """The object as kubectl would print it."""
    one = path.removesuffix("/status")
    answer: Answer = backend.request("GET", one, headers={"accept": TABLE})
    found: Wire = answer.json()
    names = [column["name"] for column in found["columnDefinitions"]]
    cells = [AGE.sub("AGE", str(cell)) for cell in found["rows"][0]["cells"]]
    return dict(zip(names, cells, strict=False))
