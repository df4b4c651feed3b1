"""Names for pod templates, and ControllerRevisions: the memory of what a workload once was."""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from atoll.apiserver.objects.metadata import GENERATED_ALPHABET
from atoll.simulated.plans.steps import Change, Make, Step, end_of, key_of, owner
from atoll.wire import Wire

COLLECTION = "controllerrevisions.apps"
HASH = "controller.kubernetes.io/hash"
_DIGITS = 10


def template_hash(template: Any) -> str:
    """A name for a pod template: the same for the same template."""
    digest = hashlib.sha256(orjson.dumps(template, option=orjson.OPT_SORT_KEYS)).digest()
    return "".join(GENERATED_ALPHABET[byte % len(GENERATED_ALPHABET)] for byte in digest[:_DIGITS])


def remembered(
    workload: Wire, known: list[Wire], labels: Mapping[str, str], mark: str = HASH
) -> list[Step]:
    """See that the template of a workload is the newest of its revisions, whatever it is called.

    A new one gets these labels, and its hash as the one called `mark`.
    """
    newest = max((one["revision"] for one in known), default=0)
    data = _data(workload)
    same = [one for one in known if one.get("data") == data]
    there = max(same, key=lambda one: int(one["revision"]), default=None)
    if there is None:
        return [Make(COLLECTION, _revision(workload, newest + 1, labels, mark))]
    if there["revision"] == newest:
        return []
    return [Change(key_of(COLLECTION, there), there["metadata"]["uid"], {"revision": newest + 1})]


def _data(workload: Wire) -> Wire:
    return {"spec": {"template": {**workload["spec"]["template"], "$patch": "replace"}}}


def _revision(workload: Wire, number: int, labels: Mapping[str, str], mark: str) -> Wire:
    meta, digest = workload["metadata"], template_hash(workload["spec"]["template"])
    marked = {**labels, mark: digest}
    # Whoever compares revisions compares bytes: Kubernetes writes keys in order.
    data = orjson.loads(orjson.dumps(_data(workload), option=orjson.OPT_SORT_KEYS))
    return {
        "metadata": {
            "name": f"{meta['name']}-{digest}",
            "namespace": meta["namespace"],
            "labels": marked,
            "ownerReferences": [owner(workload)],
        },
        "data": data,
        "revision": number,
    }


def forgotten(workload: Wire, known: list[Wire], used: set[str]) -> list[Step]:
    """The revisions beyond the limit that no pod is of, the oldest first."""
    limit = workload["spec"].get("revisionHistoryLimit", 10)
    unused = [one for one in known if one["metadata"]["name"] not in used]
    unused.sort(key=lambda one: int(one["revision"]))
    return [end_of(COLLECTION, one) for one in unused[: max(0, len(unused) - limit)]]
