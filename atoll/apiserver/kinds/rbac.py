"""The kinds of rbac.authorization.k8s.io/v1: roles and their bindings."""

from functools import partial

from atoll.apiserver.fields.error import Errors, invalid, named, not_supported, optional, required
from atoll.apiserver.kinds.reading import each, fill, grown, items, part, parts, text
from atoll.apiserver.kinds.rules import chosen, needed
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import path_segment_faults, subdomain_faults
from atoll.wire import Wire

GROUP = "rbac.authorization.k8s.io"


def _default_role(role: Wire) -> None:
    role.setdefault("rules", None)  # a role without rules says so


def _default_binding(binding: Wire) -> None:
    fill(grown(binding, "roleRef"), apiGroup=GROUP)
    for subject in parts(binding, "subjects"):
        if subject.get("kind") in ("User", "Group"):
            fill(subject, apiGroup=GROUP)


def _role_errors(role: Wire, *, namespaced: bool) -> Errors:
    for rule, where in each(parts(role, "rules"), "rules"):
        yield from _rule_errors(rule, where, namespaced=namespaced)


def _rule_errors(rule: Wire, where: str, *, namespaced: bool) -> Errors:
    if not items(rule, "verbs"):
        yield required(f"{where}.verbs", "verbs must contain at least one value")
    urls = items(rule, "nonResourceURLs")
    groups, resources = items(rule, "apiGroups"), items(rule, "resources")
    if urls:
        if namespaced:
            why = "namespaced rules cannot apply to non-resource URLs"
            yield invalid(f"{where}.nonResourceURLs", urls, why)
        if groups or resources or items(rule, "resourceNames"):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(f"{where}.nonResourceURLs", urls, why)
        return
    if not groups:
        yield required(f"{where}.apiGroups", "resource rules must supply at least one api group")
    if not resources:
        yield required(f"{where}.resources", "resource rules must supply at least one resource")


def _binding_errors(binding: Wire, *, namespaced: bool) -> Errors:
    role = {"apiGroup": "", "kind": "", **part(binding, "roleRef")}
    yield from chosen(role, "roleRef", "apiGroup", (GROUP,))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    yield from chosen(role, "roleRef", "kind", kinds)
    yield from named("roleRef.name", text(role, "name"), path_segment_faults)
    for subject, where in each(parts(binding, "subjects"), "subjects"):
        yield from _subject_errors(subject, where, namespaced=namespaced)


def _subject_errors(subject: Wire, where: str, *, namespaced: bool) -> Errors:
    name, group = text(subject, "name"), text(subject, "apiGroup")
    yield from needed(subject, where, "name")
    match subject.get("kind"):
        case "ServiceAccount":
            yield from optional(f"{where}.name", name, subdomain_faults)
            if group:
                yield not_supported(f"{where}.apiGroup", group, ("",))
            if not namespaced:
                yield from needed(subject, where, "namespace")
        case "User" | "Group":
            if group != GROUP:
                yield not_supported(f"{where}.apiGroup", group, (GROUP,))
        case kind:
            kinds = ("ServiceAccount", "User", "Group")
            yield not_supported(f"{where}.kind", kind or "", kinds)


def _role_unchanged(new: Wire, old: Wire) -> Errors:
    role = part(new, "roleRef")
    if role == part(old, "roleRef"):
        return []
    shown = {"APIGroup": role.get("apiGroup"), "Kind": role.get("kind"), "Name": role.get("name")}
    return [invalid("roleRef", shown, "cannot change roleRef")]


def _strategy_of_roles(*, namespaced: bool) -> Strategy:
    return Strategy(
        creates_on_update=True,
        name_errors=path_segment_faults,
        default=_default_role,
        errors=partial(_role_errors, namespaced=namespaced),
    )


def _strategy_of_bindings(*, namespaced: bool) -> Strategy:
    return Strategy(
        creates_on_update=True,
        name_errors=path_segment_faults,
        default=_default_binding,
        errors=partial(_binding_errors, namespaced=namespaced),
        update_errors=_role_unchanged,
    )


ROLE = _strategy_of_roles(namespaced=True)
CLUSTER_ROLE = _strategy_of_roles(namespaced=False)
ROLE_BINDING = _strategy_of_bindings(namespaced=True)
CLUSTER_ROLE_BINDING = _strategy_of_bindings(namespaced=False)
