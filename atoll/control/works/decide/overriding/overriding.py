"""All overrides of one object in one cluster, in Karmada's order.

A manifest, a cluster and a way to find the policies that may apply come in; the manifest as that
cluster gets it goes out, with a list of what was applied. ClusterOverridePolicies come first, then
the namespace's OverridePolicies; what comes later wins.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from atoll.control.works.decide.overriding import containers, fields, maps
from atoll.control.works.decide.overriding.fields import Texts
from atoll.control.works.decide.overriding.selecting import Applied, Unsuitable, in_order, rules
from atoll.dialects import json
from atoll.dialects.patches import operation, patched
from atoll.dialects.wire import at, checked, part, parts, text, text_by_name
from atoll.errors import Invalid
from atoll.model.action import Ref
from atoll.model.cluster import Cluster
from atoll.model.policy import OverridePolicy, OverrideRule
from atoll.wire import Object

Overrider = Callable[[Object, Object, str], Object]
Policies = Callable[[Object], Sequence[OverridePolicy]]
"""Gives the override policies that may mean an object: all that do."""


def no_policies(_object: Object) -> Sequence[OverridePolicy]:
    """There are none."""
    return ()


@dataclass(frozen=True, slots=True)
class Overridden:
    """A manifest for one cluster, and the rules that made it so."""

    manifest: Object
    cluster_wide: tuple[Applied, ...] = ()
    namespaced: tuple[Applied, ...] = ()


def override(manifest: Object, cluster: Cluster, policies: Policies, texts: Texts) -> Overridden:
    """The manifest as this cluster gets it; Unsuitable if a policy cannot be carried out."""
    overriders = _overriders(texts)
    found = policies(manifest)
    wide = [each for each in found if not each.ref.namespace]
    manifest, cluster_wide = _carried_out(manifest, cluster, wide, overriders)
    namespace = Ref.of(manifest).namespace
    # Labels that a cluster-wide policy gave are what the namespace's policies select by.
    found = policies(manifest) if cluster_wide else found
    own = [each for each in found if namespace and each.ref.namespace == namespace]
    manifest, namespaced = _carried_out(manifest, cluster, own, overriders)
    return Overridden(manifest, cluster_wide, namespaced)


def listed(applied: Iterable[Applied]) -> str:
    """What was applied, as the annotations of a Work tell it: by the name of the policy."""
    by_name = sorted(applied, key=lambda each: each.policy.ref.name)
    return json.written(
        [
            {"policyName": each.policy.ref.name, "overriders": each.rule.overriders}
            for each in by_name
        ]
    )


def _carried_out(
    manifest: Object,
    cluster: Cluster,
    policies: Iterable[OverridePolicy],
    overriders: tuple[tuple[str, Overrider], ...],
) -> tuple[Object, tuple[Applied, ...]]:
    applied: list[Applied] = []
    for policy in in_order(policies, manifest):
        if policy.problem is not None:
            raise Unsuitable(policy, policy.problem)
        try:
            for rule in rules(policy, cluster):
                manifest = _ruled(manifest, rule, overriders)
                applied.append(Applied(policy, rule))
        except Invalid as error:
            raise Unsuitable(policy, error) from None
    return manifest, tuple(applied)


def _ruled(
    manifest: Object, rule: OverrideRule, overriders: tuple[tuple[str, Overrider], ...]
) -> Object:
    for key, overrider in overriders:
        for here, each in parts(rule.overriders, key, rule.path):
            manifest = overrider(manifest, each, here)
    _check_still_an_object(manifest, at(rule.path, "plaintext"))
    return manifest


def _overriders(texts: Texts) -> tuple[tuple[str, Overrider], ...]:
    """Every overrider under the name users give it, in the order they are carried out."""

    def field(manifest: Object, overrider: Object, path: str) -> Object:
        return fields.field(manifest, overrider, path, texts)

    return (
        ("imageOverrider", containers.image),
        ("commandOverrider", containers.command),
        ("argsOverrider", containers.arguments),
        ("labelsOverrider", maps.labels),
        ("annotationsOverrider", maps.annotations),
        ("fieldOverrider", field),
        ("plaintext", _plaintext),
    )


def _plaintext(manifest: Object, overrider: Object, path: str) -> Object:
    result: Object = patched(manifest, operation(overrider, path))
    return result


def _check_still_an_object(manifest: Object, path: str) -> None:
    """A patch may change anything, but what is left must be an object with a name."""
    metadata = part(checked(manifest, path), "metadata", path) or {}
    for key in ("labels", "annotations"):
        text_by_name(metadata, key, at(path, "metadata"))
    given = (manifest.get("apiVersion"), manifest.get("kind"), metadata.get("name"))
    if not all(isinstance(word, str) and word for word in given):
        problem = "must leave the object its apiVersion, kind and metadata.name"
        raise Invalid(path, given, problem)
    text(metadata, "namespace", path)
