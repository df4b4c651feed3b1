"""What the plane asks of a dialect: its policies, what they mean and want, and what they are told.

A source is a value: its kinds with their decoders, how a claim is read from what carries one, and
what is written back. What a policy says is a `Policy`, the same for all dialects. Between
controllers there are Karmada's bindings and Works, whoever asked for them: no source sees a Work.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from atoll.dialects.json import written
from atoll.dialects.kind import Kind
from atoll.model.action import Action, Ref
from atoll.model.policy import Claim, Policy
from atoll.model.resource_binding import ResourceBinding
from atoll.wire import Object

HELD_AT = "atoll.io/held-at"
"""On a template that a lazy policy holds back: the content it is held back at."""
_NOT_CONTENT = ("managedFields", "resourceVersion", "generation", "labels", "annotations")

Find = Callable[[Ref], Object | None]
Report = Callable[[Policy, Sequence[ResourceBinding], Find, float], Iterable[Action]]
"""What to tell of a policy's bindings, in the dialect's own kinds, at this moment."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PolicySource:
    """One dialect. What it does not say is as it is for a dialect that has no such thing."""

    kinds: tuple[Kind[Policy], ...]
    """Its policies; they may come to be served at any time."""
    claim_of: Callable[[Object], Claim | None]
    """Which of its policies a template or a binding belongs to, as that says itself."""
    claim_keys: frozenset[str]
    """The labels and annotations by which it says so: an object has those of one claim at most."""
    awaited: tuple[tuple[str, str], ...] = ()
    """Kinds of what its policies wait for before they are applied."""
    told_in: tuple[tuple[str, str], ...] = ()
    """Kinds beside its policies that `report` writes."""
    report: Report | None = None


class Claims:
    """How templates and bindings say whose they are, in the words of all sources there are."""

    def __init__(self, sources: Iterable[PolicySource]) -> None:
        self._sources = tuple(sources)
        self._keys = frozenset({HELD_AT}.union(*(each.claim_keys for each in self._sources)))

    def of(self, wire: Object) -> Claim | None:
        """The claim that a template or binding carries, if it is complete."""
        found = (each.claim_of(wire) for each in self._sources)
        return next((each for each in found if each is not None), None)

    def claimed(self, wire: Object, claim: Claim, notes: dict[str, str] | None = None) -> Object:
        """The object with this claim and no other; `notes` are annotations of ours beside it."""
        return self._rewritten(wire, dict(claim.labels), dict(claim.annotations) | (notes or {}))

    def released(self, wire: Object) -> Object:
        """The object without any claim; itself if it carries none."""
        return self._rewritten(wire, {}, {})

    def digest(self, template: Object) -> str:
        """The content of a template in short: its status and its claim do not change it."""
        metadata = template.get("metadata") or {}
        kept = {key: value for key, value in metadata.items() if key not in _NOT_CONTENT}
        for key in ("labels", "annotations"):
            kept[key] = self._unclaimed(metadata.get(key) or {})
        content = {k: value for k, value in template.items() if k not in ("metadata", "status")}
        return blake2b(written([content, kept]).encode(), digest_size=12).hexdigest()

    def _unclaimed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name not in self._keys}

    def _rewritten(
        self, wire: Object, labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> Object:
        metadata: dict[str, Any] = dict(wire.get("metadata") or {})
        for field, added in (("labels", labels), ("annotations", annotations)):
            old = metadata.get(field) or {}
            new = self._unclaimed(old) | dict(added)
            if new == old:
                continue
            if new:
                metadata[field] = new
            else:
                del metadata[field]
        return {**wire, "metadata": metadata}


class Sources:
    """All sources that there are, as one."""

    def __init__(self, sources: Iterable[PolicySource]) -> None:
        known = tuple(sources)
        self.claims = Claims(known)
        self.kinds = tuple(kind for each in known for kind in each.kinds)
        self.awaited = tuple(kind for each in known for kind in each.awaited)
        told_in = (kind for each in known for kind in each.told_in)
        self.own_kinds = frozenset([*(each.key for each in self.kinds), *told_in])
        """Whatever they bring along; none of it is ever propagated."""
        self.reports = {
            kind.key: each.report for each in known for kind in each.kinds if each.report
        }
        """By kind of policy: what is told of its bindings, where anything is."""


def annotation(wire: Object, key: str) -> str:
    """What an annotation says; nothing if it is not there."""
    found: str = ((wire.get("metadata") or {}).get("annotations") or {}).get(key, "")
    return found


def is_going(wire: Object) -> bool:
    """Whether an object is being deleted."""
    return bool((wire.get("metadata") or {}).get("deletionTimestamp"))
