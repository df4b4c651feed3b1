"""What each target cluster gets of a template: its manifest, as it stands in a Work.

A binding, its template, the clusters and the override policies come in; per target a manifest or
the reason why there is none go out. Replicas are set first, overrides come last and win; then
follow the marks by which the object is known as ours. What a kind means is handed in.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from atoll.control.works.decide.overriding.fields import Texts
from atoll.control.works.decide.overriding.overriding import (
    Overridden,
    Policies,
    no_policies,
    override,
)
from atoll.dialects.karmada import names
from atoll.dialects.karmada.ordinals import range_of
from atoll.dialects.karmada.references import WORK_API, marks_of
from atoll.errors import AtollError, Invalid
from atoll.model.action import Ref
from atoll.model.binding import Target
from atoll.model.cluster import Cluster
from atoll.model.ordinals import Range
from atoll.model.resource_binding import ResourceBinding
from atoll.scheduling import webster
from atoll.wire import Object

OVERWRITE, ABORT = "overwrite", "abort"


@dataclass(frozen=True, slots=True)
class Means:
    """What rendering asks others: what a kind means, and how YAML is read and written.

    `revise` gives an object this many replicas, and leaves alone what has none to give. `prune`
    takes away what belongs to one cluster only. Both may raise AtollError.
    """

    revise: Callable[[Object, int], Object]
    prune: Callable[[Object], Object]
    texts: Texts


@dataclass(frozen=True, slots=True)
class SeenRendering:
    """A template, where it goes, and what is different there."""

    binding: ResourceBinding
    template: Object
    clusters: Mapping[str, Cluster]
    means: Means
    policies: Policies = no_policies
    ordinals: Mapping[str, Range] | None = None
    """Which ordinals the clusters get where those are divided; then no other gets anything."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What goes to a cluster, in a Work of this name; all but the id of that Work is in it."""

    manifest: Object
    work: Ref
    overridden: Overridden
    conflict_resolution: str

    def identified(self, work_id: str, notes: Mapping[str, str] | None = None) -> Object:
        """The manifest with its Work's id, and lists of the labels and annotations we manage."""
        marked = _with_metadata(self.manifest, {names.WORK_ID: work_id}, notes or {})
        own = (names.MANAGED_LABELS, names.MANAGED_ANNOTATIONS)
        lists = {
            names.MANAGED_LABELS: ",".join(_keys(marked, "labels")),
            names.MANAGED_ANNOTATIONS: ",".join(_keys(marked, "annotations", *own)),
        }
        return _with_metadata(marked, {}, lists)


def render(seen: SeenRendering) -> dict[str, Rendered | AtollError]:
    """What each target gets, or why it gets nothing; one that fails does not stop the others."""
    targets = seen.binding.targets
    if seen.ordinals is not None:
        targets = tuple(Target(name, each.count) for name, each in seen.ordinals.items())
    completions = _completions(seen, targets)
    found: dict[str, Rendered | AtollError] = {}
    for target in targets:
        try:
            found[target.name] = _rendered(seen, target, completions.get(target.name))
        except AtollError as error:
            found[target.name] = error
    return found


def _rendered(seen: SeenRendering, target: Target, completions: int | None) -> Rendered:
    cluster = seen.clusters.get(target.name)
    if cluster is None:
        raise Invalid("spec.clusters", target.name, "there is no such cluster")
    revised = _revised(seen, target, completions)
    overridden = override(revised, cluster, seen.policies, seen.means.texts)
    if seen.ordinals is not None:
        _check_ordinals(overridden.manifest, seen.ordinals[target.name])
    ref = Ref.of(overridden.manifest)
    work = Ref(
        WORK_API,
        "Work",
        names.execution_namespace(target.name),
        _work_name(ref.kind, ref.name, ref.namespace),
    )
    resolution = _conflict_resolution(overridden.manifest, seen.binding)
    marked = _marked(seen, overridden.manifest, work, resolution)
    return Rendered(seen.means.prune(marked), work, overridden, resolution)


# The same for every cluster, and asked for each time that anything changes.
_work_name = lru_cache(maxsize=4096)(names.work_name)


def _revised(seen: SeenRendering, target: Target, completions: int | None) -> Object:
    """With the replicas, completions and ordinals of this cluster."""
    manifest = seen.template
    ordinals = None if seen.ordinals is None else seen.ordinals[target.name]
    if seen.binding.spec.is_workload or ordinals is not None:
        # Where none are asked for, whoever depends on it brings none along either.
        none = ordinals is None and seen.binding.spec.replicas == 0
        manifest = seen.means.revise(manifest, 0 if none else target.replicas)
    if completions is not None:
        manifest = _with_spec(manifest, completions=completions)
    if ordinals is not None:
        manifest = _with_spec(manifest, ordinals={"start": ordinals.start})
    return manifest


def _check_ordinals(manifest: Object, wanted: Range) -> None:
    """Refuse an override that would run ordinals which may run elsewhere."""
    found = range_of(manifest, wanted.cluster)
    if found != wanted:
        problem = f"must stay {wanted.count} from {wanted.start}, as its ordinals are divided"
        said = f"{found.count} from {found.start}"
        raise Invalid("spec.replicas and spec.ordinals", said, f"{problem}; correct the override")


def _with_spec(manifest: Object, **fields: Any) -> Object:
    return {**manifest, "spec": {**_spec(manifest), **fields}}


def _spec(manifest: Object) -> Mapping[str, Any]:
    found = manifest.get("spec")
    return found if isinstance(found, Mapping) else {}


def _completions(seen: SeenRendering, targets: tuple[Target, ...]) -> Mapping[str, int]:
    """How many completions of a divided Job fall to each cluster, by its share of the replicas."""
    spec, job = seen.binding.spec, seen.template
    total = _spec(job).get("completions")
    is_split = job.get("kind") == "Job" and spec.replicas and spec.is_divided
    if not is_split or not isinstance(total, int) or not any(each.replicas for each in targets):
        return {}
    by_name = sorted(targets)
    votes = np.array([each.replicas for each in by_name], np.int64)
    descending = webster.descends((job.get("metadata") or {}).get("uid", ""))
    seats = webster.divide(total, votes, descending=descending)
    return {each.name: int(won) for each, won in zip(by_name, seats, strict=True)}


def _conflict_resolution(manifest: Object, binding: ResourceBinding) -> str:
    """What to do about an object that is there already: the object's own word comes first."""
    asked = (manifest["metadata"].get("annotations") or {}).get(names.CONFLICT_RESOLUTION)
    if asked in (OVERWRITE, ABORT):
        return str(asked)
    return OVERWRITE if binding.spec.overwrites else ABORT


def _marked(seen: SeenRendering, manifest: Object, work: Ref, resolution: str) -> Object:
    """With the labels and annotations that say whose it is."""
    template = seen.template.get("metadata") or {}
    marks = marks_of(seen.binding)
    annotations = {
        **marks.annotations,
        names.TEMPLATE_UID: template.get("uid", ""),
        names.WORK_NAMESPACE: work.namespace,
        names.WORK_NAME: work.name,
        names.CONFLICT_RESOLUTION: resolution,
    }
    if template.get("generation"):
        annotations[names.TEMPLATE_GENERATION] = str(template["generation"])
    return _with_metadata(manifest, {names.MANAGED: "true", **marks.labels}, annotations)


def _keys(manifest: Object, key: str, *more: str) -> list[str]:
    return sorted({*(manifest["metadata"].get(key) or {}), *more})


def _with_metadata(
    manifest: Object, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> Object:
    metadata = manifest["metadata"]
    merged = {
        "labels": {**(metadata.get("labels") or {}), **labels},
        "annotations": {**(metadata.get("annotations") or {}), **annotations},
    }
    return {**manifest, "metadata": {**metadata, **merged}}
