"""Which Pod Security Standard a namespace asks for by its labels, and what comes of it.

Labels of a namespace come in, a policy goes out; a policy and a pod (or a workload, for the pods it
would make) come in, and a refusal or a warning goes out. What pods may not have: `pod_standards`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from atoll.apiserver.admitting.pod_baseline import Fault
from atoll.apiserver.admitting.pod_standards import faults
from atoll.apiserver.admitting.refused import Refused
from atoll.apiserver.fields.error import FieldError, invalid
from atoll.apiserver.kinds.reading import part, parts, text
from atoll.apiserver.objects.metadata import metadata
from atoll.wire import Wire

PREFIX = "pod-security.kubernetes.io/"
LEVELS = ("privileged", "baseline", "restricted")
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]*)")
_TEMPLATE = ("spec", "template")
# Where a kind keeps what its pods are made from, by collection.
TEMPLATES: dict[str, tuple[str, ...]] = {
    "cronjobs.batch": ("spec", "jobTemplate", *_TEMPLATE),
    "daemonsets.apps": _TEMPLATE,
    "deployments.apps": _TEMPLATE,
    "jobs.batch": _TEMPLATE,
    "podtemplates": ("template",),
    "replicasets.apps": _TEMPLATE,
    "replicationcontrollers": _TEMPLATE,
    "statefulsets.apps": _TEMPLATE,
}


@dataclass(frozen=True, slots=True)
class Standard:
    """A level of strictness, and the version in which it is meant."""

    level: str = "privileged"
    version: str = "latest"

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"


@dataclass(frozen=True, slots=True)
class Policy:
    """What pods of a namespace must keep to, and what their makers are warned of."""

    enforced: Standard = Standard()
    warned: Standard = Standard()


def policy_of(labels: Wire) -> Policy:
    """The policy that labels ask for; a level that is none is the strictest, or for warnings none.

    Who says nothing of warnings is warned of what is enforced.
    """
    enforced, warned = (_standard(labels, mode) for mode in ("enforce", "warn"))
    given = labels.get(f"{PREFIX}enforce")
    if f"{PREFIX}warn" not in labels and given in LEVELS:
        version = warned.version if f"{PREFIX}warn-version" in labels else enforced.version
        warned = Standard(enforced.level, version)
    return Policy(enforced, warned)


def _standard(labels: Wire, mode: str) -> Standard:
    level = labels.get(PREFIX + mode, "privileged")
    if level not in LEVELS:
        level = "restricted" if mode == "enforce" else "privileged"
    version = labels.get(f"{PREFIX}{mode}-version", "latest")
    return Standard(level, version if _VERSION.fullmatch(version) else "latest")


def label_errors(labels: Wire) -> list[FieldError]:
    """What is wrong with the labels by which a namespace asks for standards."""
    errors = []
    for mode in ("enforce", "audit", "warn"):
        for name, good, why in (
            (PREFIX + mode, LEVELS.__contains__, f"must be one of {', '.join(LEVELS)}"),
            (f"{PREFIX}{mode}-version", _is_version, 'must be "latest" or "v1.x"'),
        ):
            if name in labels and not good(labels[name]):
                errors.append(invalid(f"metadata.labels[{name}]", labels[name], why))
    return errors


def _is_version(text_: str) -> bool:
    return text_ == "latest" or _VERSION.fullmatch(text_) is not None


def check(pod: Wire, policy: Policy, *, enforces: bool) -> str:
    """What the maker of a pod is to be warned of; Refused if what is enforced is violated."""
    spec, notes = part(pod, "spec"), part(pod, "metadata", "annotations")
    found = faults(spec, notes, policy.enforced.level) if enforces else []
    if found:
        raise Refused(f'violates PodSecurity "{policy.enforced}": {_told(found)}')
    doubts = faults(spec, notes, policy.warned.level)
    return f'would violate PodSecurity "{policy.warned}": {_told(doubts)}' if doubts else ""


def _told(found: list[Fault]) -> str:
    return ", ".join(f"{rule} ({how})" for rule, how in found)


def is_significant(pod: Wire, old: Wire) -> bool:
    """Whether a change of a pod is looked at: another image, or a guest."""
    return any(
        _images(pod, kind) != _images(old, kind)
        for kind in ("containers", "initContainers", "ephemeralContainers")
    )


def _images(pod: Wire, kind: str) -> list[tuple[str, str]]:
    return [(text(one, "name"), text(one, "image")) for one in parts(pod, "spec", kind)]


def tightened(namespace: Wire, old: Wire, pods: Callable[[], Iterable[Wire]]) -> list[str]:
    """What to tell of pods that are there already when a namespace gets stricter."""
    now, before = (_enforced(one) for one in (namespace, old))
    eased = LEVELS.index(now.level) <= LEVELS.index(before.level)
    if now == before or now.level == "privileged" or (now.version == before.version and eased):
        return []
    violating: dict[str, list[str]] = {}
    for pod in pods():
        spec, notes = part(pod, "spec"), part(pod, "metadata", "annotations")
        rules = ", ".join(rule for rule, _ in faults(spec, notes, now.level))
        if rules:
            violating.setdefault(rules, []).append(text(pod, "metadata", "name"))
    if not violating:
        return []
    name = text(namespace, "metadata", "name")
    head = f'existing pods in namespace "{name}" violate the new PodSecurity enforce level "{now}"'
    return [head, *sorted(f"{_among(names)}: {rules}" for rules, names in violating.items())]


def _enforced(namespace: Wire) -> Standard:
    return policy_of(metadata(namespace).get("labels") or {}).enforced


def _among(names: list[str]) -> str:
    first, others = min(names), len(names) - 1
    if not others:
        return first
    return f"{first} (and {others} other {'pod' if others == 1 else 'pods'})"
