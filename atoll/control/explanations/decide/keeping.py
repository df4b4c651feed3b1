"""Why a binding was placed as it was: its last ten decisions in one object, for people to read.

Notes of decisions and the explanation there is come in; at most one write goes out, none if the
decisions say what the last one said. The newest decision is stored whole, the earlier ones
compressed; they are shown as one list. An explanation has its binding's namespace and name, and
goes with it. How a decision is told is known to `telling`; who may read it is not known here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from atoll.control.explanations.decide.telling import RECORD, Note, says, told
from atoll.dialects.explanations import (
    CLUSTER_WIDE,
    DECISIONS,
    NAMESPACED,
    NUMBER,
    compact,
    expanded,
)
from atoll.dialects.prices import API_VERSION
from atoll.dialects.wire import written_time
from atoll.model.action import NOTHING, Create, Delete, Plan, Ref, Update
from atoll.model.metadata import Metadata
from atoll.wire import Object


def explanation_of(binding: Ref) -> Ref:
    """The explanation that a binding has once it is decided about."""
    kind = NAMESPACED if binding.namespace else CLUSTER_WIDE
    return Ref(API_VERSION, kind, binding.namespace, binding.name)


def keep(binding: Metadata, known: Object | None, notes: Sequence[Note]) -> Plan:
    """Add decisions, the oldest first, to what is told of a binding; the oldest told are let go."""
    same = known is not None and (known.get("binding") or {}).get("uid") == binding.uid
    before = list(expanded(known).get(DECISIONS) or ()) if known and same else []
    decisions = before
    for each in notes:
        if not decisions or says(each) != _said(decisions[0]):
            earlier = [{key: one[key] for key in one if key != RECORD} for one in decisions]
            number = (decisions[0].get(NUMBER) or len(decisions)) + 1 if decisions else 1
            decisions = [{NUMBER: number, **told(each)}, *earlier]
    if decisions is before:
        return NOTHING
    wanted = compact({**_about(binding), DECISIONS: decisions})
    if known is None:
        return Plan((Create(wanted),))
    if not same:  # of a binding that is no more, and about to go with it
        return Plan((Delete.of(known), Create(wanted)))
    return Plan((Update({**wanted, "metadata": known["metadata"]}),))


def untold(known: Object | None, notes: Sequence[Note]) -> list[Note]:
    """What is left to tell after a write of which nobody heard: what follows that told last."""
    before = expanded(known).get(DECISIONS) if known else None
    last = (before[0].get("time"), _said(before[0])) if before else None
    until = [at for at, each in enumerate(notes, 1) if (written_time(each.at), says(each)) == last]
    return list(notes[max(until, default=0) :])


def _about(binding: Metadata) -> Mapping[str, Any]:
    """Which binding it is about; it is removed with it."""
    about = binding.ref
    of = {"apiVersion": about.api_version, "kind": about.kind, "name": about.name}
    of["uid"] = binding.uid
    where = {"namespace": about.namespace} if about.namespace else {}
    named = explanation_of(about)
    return {
        "apiVersion": named.api_version,
        "kind": named.kind,
        "metadata": {"name": named.name, **where, "ownerReferences": [of]},
        "binding": {**of, **where},
    }


def _said(last: Mapping[str, Any]) -> tuple[Any, ...]:
    """The same of a decision that was told as `says` has it of one that was not yet."""
    about = last.get("outcome") or {}
    said = (about.get("verdict"), about.get("message", ""), about.get("affinityName", ""))
    return *said, last.get("replicas", 0), last.get("targets", [])
