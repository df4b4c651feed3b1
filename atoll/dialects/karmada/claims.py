"""The claim: what a template and its binding carry to say which policy they belong to.

One label with the policy's permanent id and annotations with its name. An object carries at most
one claim: writing one takes every other away. Objects come in as on the wire and are not changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from atoll.dialects.json import written
from atoll.dialects.karmada import names
from atoll.dialects.karmada.templates import CLUSTER_POLICY, POLICY
from atoll.model.action import Object

HELD_AT = "atoll.io/held-at"
"""On a template that a lazy policy holds back: the content it is held back at."""

_LABELS = (names.POLICY_ID, names.CLUSTER_POLICY_ID)
_ANNOTATIONS = (names.POLICY_NAMESPACE, names.POLICY_NAME, names.CLUSTER_POLICY_NAME)
CLAIM_KEYS = frozenset((*_LABELS, *_ANNOTATIONS, HELD_AT))


@dataclass(frozen=True, slots=True)
class Claim:
    """Which policy; a policy made anew under an old name is another one, with another id."""

    kind: str
    namespace: str
    name: str
    permanent_id: str

    def __str__(self) -> str:
        """As users know it: namespace/name, or the name of a cluster-wide policy."""
        if self.kind == CLUSTER_POLICY:
            return f"cluster policy {self.name}"
        return f"policy {self.namespace}/{self.name}"

    @property
    def labels(self) -> Mapping[str, str]:
        key = names.CLUSTER_POLICY_ID if self.kind == CLUSTER_POLICY else names.POLICY_ID
        return {key: self.permanent_id}

    @property
    def annotations(self) -> Mapping[str, str]:
        if self.kind == CLUSTER_POLICY:
            return {names.CLUSTER_POLICY_NAME: self.name}
        return {names.POLICY_NAMESPACE: self.namespace, names.POLICY_NAME: self.name}


def claim_for(policy: Object) -> Claim | None:
    """The claim a policy makes; None while it has no permanent id."""
    metadata = policy.get("metadata") or {}
    kind = policy.get("kind", "")
    key = names.CLUSTER_POLICY_ID if kind == CLUSTER_POLICY else names.POLICY_ID
    permanent_id = (metadata.get("labels") or {}).get(key)
    namespace = metadata.get("namespace") or ""
    return Claim(kind, namespace, metadata.get("name", ""), permanent_id) if permanent_id else None


def claim_of(wire: Object) -> Claim | None:
    """The claim a template or binding carries, if it is complete."""
    metadata = wire.get("metadata") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    permanent_id = labels.get(names.POLICY_ID)
    namespace = annotations.get(names.POLICY_NAMESPACE)
    name = annotations.get(names.POLICY_NAME)
    if permanent_id and namespace and name:
        return Claim(POLICY, namespace, name, permanent_id)
    permanent_id = labels.get(names.CLUSTER_POLICY_ID)
    name = annotations.get(names.CLUSTER_POLICY_NAME)
    return Claim(CLUSTER_POLICY, "", name, permanent_id) if permanent_id and name else None


def claimed(wire: Object, claim: Claim, notes: Mapping[str, str] | None = None) -> Object:
    """The object with this claim and no other; `notes` are annotations of ours beside it."""
    return _rewritten(wire, claim.labels, {**claim.annotations, **(notes or {})})


def released(wire: Object) -> Object:
    """The object without any claim; itself if it carries none."""
    return _rewritten(wire, {}, {})


def annotation(wire: Object, key: str) -> str:
    """What an annotation says; nothing if it is not there."""
    found: str = ((wire.get("metadata") or {}).get("annotations") or {}).get(key, "")
    return found


def is_going(wire: Object) -> bool:
    """Whether an object is being deleted."""
    return bool((wire.get("metadata") or {}).get("deletionTimestamp"))


def _rewritten(wire: Object, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Object:
    metadata: dict[str, Any] = dict(wire.get("metadata") or {})
    for field, added in (("labels", labels), ("annotations", annotations)):
        old = metadata.get(field) or {}
        new = {key: value for key, value in old.items() if key not in CLAIM_KEYS} | dict(added)
        if new == old:
            continue
        if new:
            metadata[field] = new
        else:
            del metadata[field]
    return {**wire, "metadata": metadata}


_NOT_CONTENT = ("managedFields", "resourceVersion", "generation", "labels", "annotations")


def digest(template: Object) -> str:
    """The content of a template in short: changes in status and in its claim do not change it."""
    metadata = template.get("metadata") or {}
    kept = {key: value for key, value in metadata.items() if key not in _NOT_CONTENT}
    for key in ("labels", "annotations"):
        values = metadata.get(key) or {}
        kept[key] = {name: value for name, value in values.items() if name not in CLAIM_KEYS}
    content = {key: value for key, value in template.items() if key not in ("metadata", "status")}
    return blake2b(written([content, kept]).encode(), digest_size=12).hexdigest()
