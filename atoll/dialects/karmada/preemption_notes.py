"""What is noted on bindings while some give way to others.

On who takes room: who gives it, where and how many. On who gave it: to whom, until that runs there.
Bindings come in and notes go out, and the other way round. A note that cannot be read is none: then
nothing is taken on its account.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from atoll.dialects import json
from atoll.dialects.karmada.references import API_VERSION
from atoll.model.action import Ref
from atoll.wire import Object

PREEMPTS = "placement.atoll.io/preempts"
GAVE_WAY = "placement.atoll.io/gave-way"
GIVEN_AWAY = "given to higher priority"
"""Who says, among the estimates of a decision, that there is no room."""


@dataclass(frozen=True, slots=True)
class Part:
    """So many replicas in a cluster that one binding gives up for another; `other` is that one.

    `decision` tells decisions of one binding apart: the version that it was made on.
    """

    other: Ref
    uid: str
    cluster: str
    replicas: int
    decision: str


def parts(binding: Object, note: str) -> tuple[Part, ...]:
    """The parts that a binding's note tells of."""
    annotations = (binding.get("metadata") or {}).get("annotations") or {}
    if note not in annotations:
        return ()
    found = json.read(str(annotations[note]))
    read = [_part(each) for each in found] if isinstance(found, list) else []
    return tuple(each for each in read if each is not None)


def has(binding: Object, note: str) -> bool:
    """Whether a binding carries such a note, readable or not."""
    return note in ((binding.get("metadata") or {}).get("annotations") or {})


def noted(binding: Object, note: str, told: Iterable[Part]) -> dict[str, Any]:
    """The binding with these parts in its note, or without the note if there are none."""
    metadata = dict(binding["metadata"])
    annotations = dict(metadata.get("annotations") or {})
    annotations.pop(note, None)
    metadata["annotations"] = {**annotations, **written(note, told)}
    return {**binding, "metadata": metadata}


def written(note: str, told: Iterable[Part]) -> dict[str, str]:
    """The annotation for these parts; none for none."""
    listed = [
        {
            "kind": each.other.kind,
            "namespace": each.other.namespace,
            "name": each.other.name,
            "uid": each.uid,
            "cluster": each.cluster,
            "replicas": each.replicas,
            "decision": each.decision,
        }
        for each in told
    ]
    return {note: json.written(listed)} if listed else {}


def has_given(victim: Object, part: Part, taker: str) -> bool:
    """Whether a binding has given this part to the one of that uid."""
    return any(
        (each.uid, each.cluster, each.decision) == (taker, part.cluster, part.decision)
        for each in parts(victim, GAVE_WAY)
    )


def given_away(binding: Object) -> dict[str, dict[str, int]]:
    """No room in the clusters where a binding gave way, as an estimate; none if it did not."""
    clusters = {each.cluster: 0 for each in parts(binding, GAVE_WAY)}
    return {GIVEN_AWAY: clusters} if clusters else {}


def _part(given: Any) -> Part | None:
    if not isinstance(given, Mapping):
        return None
    fields = ("kind", "namespace", "name", "uid", "cluster", "decision")
    kind, namespace, name, uid, cluster, decision = (str(given.get(each, "")) for each in fields)
    replicas = given.get("replicas")
    if not (kind and name and uid and cluster and isinstance(replicas, int) and replicas > 0):
        return None
    return Part(Ref(API_VERSION, kind, namespace, name), uid, cluster, replicas, decision)
