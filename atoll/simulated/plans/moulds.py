"""What pods are made from: a template, completed and understood once for all pods made from it.

A pod template (or a pod, which has the same parts) comes in; what every pod of it has, needs of a
node and will do there goes out. Nothing here is changed once it is made: pods share it.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from math import inf
from typing import Any

import orjson

from atoll.dialects.kubernetes.pods import demand
from atoll.errors import Invalid
from atoll.model.amount import PODS
from atoll.model.demand import Demand, NodeClaim
from atoll.simulated.plans.neighbours import NO_RULES, Rules, rules_of
from atoll.wire import Wire

Needs = tuple[tuple[str, int], ...]
"""By resource name: thousandths of a CPU, whole units of all else."""

FAIL, RUN_S = "simulated.atoll.io/fail", "simulated.atoll.io/run-seconds"
CRASH, IMAGE, NEVER_READY = "crash", "image", "never-ready"
TROUBLES = (CRASH, IMAGE, NEVER_READY)
FAILING_IMAGES = "fail.simulated/"
_NOT_THERE = ("404", "nonexistent", "non-existent")  # tags that people write to see a pull fail
_MOST = 1024
_IN_TROUBLE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_PATIENCE_S = 300


@dataclass(frozen=True, slots=True, eq=False)
class Mould:
    """What all pods of one template have in common."""

    spec: Wire
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    quality: str
    claim: NodeClaim
    needs: Needs
    rules: Rules
    trouble: str
    runs_s: float | None
    sleeps_s: float | None = None  # what its command says it does

    def pod(self, namespace: str, name: str, owner: Wire | None, **spec: Any) -> Wire:
        """A pod of this mould, with more in its spec where that is asked for."""
        meta: Wire = {"name": name, "namespace": namespace, "labels": dict(self.labels)}
        if owner is not None:
            meta["ownerReferences"] = [owner]
        if self.annotations:
            meta["annotations"] = dict(self.annotations)
        return {
            "metadata": meta,
            "spec": {**self.spec, **spec} if spec else self.spec,
            "status": {"phase": "Pending", "qosClass": self.quality},
        }


class Moulds:
    """Moulds by template; `default` completes a pod in place, as the API server does."""

    def __init__(self, default: Callable[[Wire], None]) -> None:
        self._default = default
        self._known: dict[bytes, Mould] = {}

    def of(self, template: Mapping[str, Any], namespace: str) -> Mould:
        """The mould of a pod template, or of a pod."""
        meta, spec = template.get("metadata") or {}, template.get("spec") or {}
        labels, notes = meta.get("labels") or {}, meta.get("annotations") or {}
        key = orjson.dumps((namespace, labels, notes, spec))
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST:
                del self._known[next(iter(self._known))]
            pod = {"metadata": {}, "spec": deepcopy(spec)}
            self._default(pod)
            pod["spec"]["tolerations"] = _patient(pod["spec"].get("tolerations") or [])
            known = self._known[key] = _mould(pod, labels, notes, namespace)
        return known


def _mould(pod: Wire, labels: Wire, notes: Wire, namespace: str) -> Mould:
    spec = pod["spec"]
    try:
        asked = demand(spec)
    except Invalid:
        asked = Demand()
    amounts = {name: amount.in_its_unit(name) for name, amount in asked.requests}
    needs = {name: amount for name, amount in amounts.items() if amount > 0} | {PODS: 1}
    return Mould(
        spec=spec,
        labels=labels,
        annotations=notes,
        quality=pod["status"]["qosClass"],
        claim=asked.claim,
        needs=tuple(needs.items()),
        rules=rules_of(spec, labels, namespace) if _has_rules(spec) else NO_RULES,
        trouble=_trouble(spec, notes),
        runs_s=_seconds(notes.get(RUN_S)),
        sleeps_s=_sleeps_s(spec),
    )


def _patient(tolerations: list[Wire]) -> list[Wire]:
    """Whoever does not say otherwise stays on a node in trouble for five minutes."""
    known = [one for one in tolerations if one.get("effect") in (None, "", "NoExecute")]
    every = any(not one.get("key") and one.get("operator") == "Exists" for one in known)
    more = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _PATIENCE_S}
        for key in _IN_TROUBLE
        if not every and not any(one.get("key") == key for one in known)
    ]
    return [*tolerations, *more]


def _has_rules(spec: Wire) -> bool:
    return bool(spec.get("affinity") or spec.get("topologySpreadConstraints"))


def _trouble(spec: Wire, notes: Wire) -> str:
    """What will go wrong with a pod: as its annotation says, else as the name of an image says."""
    if notes.get(FAIL) in TROUBLES:
        return str(notes[FAIL])
    for container in spec.get("containers") or ():
        image = str(container.get("image", ""))
        if image.startswith(FAILING_IMAGES):
            named = image.removeprefix(FAILING_IMAGES).partition(":")[0]
            return named if named in TROUBLES else CRASH
        if _image(container)[1] in _NOT_THERE:
            return IMAGE
    return ""


def _sleeps_s(spec: Wire) -> float | None:
    """How long a pod does nothing but sleep, where that is all its one container does."""
    containers = spec.get("containers") or []
    if len(containers) != 1:
        return None
    words = [*(containers[0].get("command") or ()), *(containers[0].get("args") or ())]
    match words:
        case ["sh" | "/bin/sh", "-c", script]:
            words = str(script).split()
    match words:
        case ["sleep", time]:
            return _seconds(time)
        case [] if _image(containers[0])[0].rpartition("/")[2] == "pause":
            return inf
    return None


def _image(container: Wire) -> tuple[str, str]:
    """The name of an image, and its tag."""
    name, _, last = str(container.get("image", "")).rpartition("/")
    named, _, tag = last.partition("@")[0].partition(":")
    return f"{name}/{named}" if name else named, tag


def _seconds(written: Any) -> float | None:
    try:
        return max(0.0, float(written))
    except (TypeError, ValueError):
        return None
