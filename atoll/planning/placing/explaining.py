"""Why a binding was placed as it was: its last ten decisions in one object, for people to read.

Notes of decisions and the explanation there is come in; at most one write goes out, none if the
decisions say what the last one said. The newest decision is stored whole, the earlier ones
compressed; they are shown as one list. An explanation has its binding's namespace and name, and
goes with it. How a decision is told is known to `telling`; who may read it is not known here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from atoll.dialects import json
from atoll.dialects.compressed import deflated, inflated
from atoll.dialects.prices import API_VERSION
from atoll.errors import Invalid
from atoll.model.action import NOTHING, Create, Delete, Object, Plan, Ref, Update
from atoll.planning.placing.standing import written_time
from atoll.planning.placing.telling import RECORD, Note, says, told

NAMESPACED, CLUSTER_WIDE = "Explanation", "ClusterExplanation"
KEPT = 10
_EARLIER, _DECISIONS, _NUMBER = "earlier", "decisions", "number"


def explanation_of(binding: Ref) -> Ref:
    """The explanation that a binding has once it is decided about."""
    kind = NAMESPACED if binding.namespace else CLUSTER_WIDE
    return Ref(API_VERSION, kind, binding.namespace, binding.name)


def keep(binding: Object, known: Object | None, notes: Sequence[Note]) -> Plan:
    """Add decisions, the oldest first, to what is told of a binding; the oldest told are let go."""
    same = known is not None and (known.get("binding") or {}).get("uid") == _uid(binding)
    before = list(expanded(known).get(_DECISIONS) or ()) if known and same else []
    decisions = before
    for each in notes:
        if not decisions or says(each) != _said(decisions[0]):
            earlier = [{key: one[key] for key in one if key != RECORD} for one in decisions]
            number = (decisions[0].get(_NUMBER) or len(decisions)) + 1 if decisions else 1
            decisions = [{_NUMBER: number, **told(each)}, *earlier]
    if decisions is before:
        return NOTHING
    wanted = compact({**_about(binding), _DECISIONS: decisions})
    if known is None:
        return Plan((Create(wanted),))
    if not same:  # of a binding that is no more, and about to go with it
        return Plan((Delete.of(known), Create(wanted)))
    return Plan((Update({**wanted, "metadata": known["metadata"]}),))


def untold(known: Object | None, notes: Sequence[Note]) -> list[Note]:
    """What is left to tell after a write of which nobody heard: what follows that told last."""
    before = expanded(known).get(_DECISIONS) if known else None
    last = (before[0].get("time"), _said(before[0])) if before else None
    until = [at for at, each in enumerate(notes, 1) if (written_time(each.at), says(each)) == last]
    return list(notes[max(until, default=0) :])


def expanded(explanation: Object) -> dict[str, Any]:
    """An explanation as it is shown: all decisions in one list."""
    shown = dict(explanation)
    earlier = _read(shown.get(_EARLIER))
    if earlier is not None:
        del shown[_EARLIER]
        shown[_DECISIONS] = [*(shown.get(_DECISIONS) or ()), *earlier]
    return shown


def compact(explanation: Object) -> dict[str, Any]:
    """An explanation as it is stored: the newest decision, and the others compressed."""
    shown = expanded(explanation)
    decisions = shown.get(_DECISIONS) or []
    if len(decisions) > 1:
        earlier = deflated(json.written(decisions[1:KEPT]).encode())
        shown |= {_DECISIONS: decisions[:1], _EARLIER: earlier}
    return shown


def problems(explanation: Object) -> Iterator[Invalid]:
    """What is wrong with an explanation that someone writes."""
    earlier = explanation.get(_EARLIER)
    if earlier is not None and _read(earlier) is None:
        problem = "cannot be read: it is not what Atoll wrote; leave it out"
        yield Invalid(_EARLIER, f"{len(earlier)} characters", problem)


def _read(earlier: Any) -> list[Any] | None:
    """The decisions in their compressed form; None if it is none."""
    if not isinstance(earlier, str):
        return None
    try:
        found = json.read(inflated(earlier, _EARLIER).decode())
    except (Invalid, UnicodeDecodeError):
        return None
    good = isinstance(found, list) and all(isinstance(each, dict) for each in found)
    return found if good else None


def _about(binding: Object) -> Mapping[str, Any]:
    """Which binding it is about; it is removed with it."""
    about = Ref.of(binding)
    of = {"apiVersion": about.api_version, "kind": about.kind, "name": about.name}
    of["uid"] = _uid(binding)
    where = {"namespace": about.namespace} if about.namespace else {}
    named = explanation_of(about)
    return {
        "apiVersion": named.api_version,
        "kind": named.kind,
        "metadata": {"name": named.name, **where, "ownerReferences": [of]},
        "binding": {**of, **where},
    }


def _uid(binding: Object) -> str:
    return str((binding.get("metadata") or {}).get("uid", ""))


def _said(last: Mapping[str, Any]) -> tuple[Any, ...]:
    """The same of a decision that was told as `says` has it of one that was not yet."""
    about = last.get("outcome") or {}
    said = (about.get("verdict"), about.get("message", ""), about.get("affinityName", ""))
    return *said, last.get("replicas", 0), last.get("targets", [])
