"""The kinds of rbac.authorization.k8s.io/v1: roles and their bindings."""

from atoll.apiserver.fields.error import FieldError, invalid, not_supported, required
from atoll.apiserver.kinds.reading import Object, each, fill, grown, items, part, parts, text
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import path_segment_faults, subdomain_faults

GROUP = "rbac.authorization.k8s.io"


def _default_role(role: Object) -> None:
    role.setdefault("rules", None)  # a role without rules says so


def _default_binding(binding: Object) -> None:
    fill(grown(binding, "roleRef"), apiGroup=GROUP)
    for subject in parts(binding, "subjects"):
        if subject.get("kind") in ("User", "Group"):
            fill(subject, apiGroup=GROUP)


def _role_errors(role: Object) -> list[FieldError]:
    return _rules_errors(role, namespaced=True)


def _cluster_role_errors(role: Object) -> list[FieldError]:
    return _rules_errors(role, namespaced=False)


def _rules_errors(role: Object, *, namespaced: bool) -> list[FieldError]:
    errors = []
    for rule, where in each(parts(role, "rules"), "rules"):
        errors += _rule_errors(rule, where, namespaced=namespaced)
    return errors


def _rule_errors(rule: Object, where: str, *, namespaced: bool) -> list[FieldError]:
    errors = []
    if not items(rule, "verbs"):
        errors.append(required(f"{where}.verbs", "verbs must contain at least one value"))
    urls = items(rule, "nonResourceURLs")
    groups, resources = items(rule, "apiGroups"), items(rule, "resources")
    if urls:
        if namespaced:
            why = "namespaced rules cannot apply to non-resource URLs"
            errors.append(invalid(f"{where}.nonResourceURLs", urls, why))
        if groups or resources or items(rule, "resourceNames"):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid(f"{where}.nonResourceURLs", urls, why))
        return errors
    if not groups:
        why = "resource rules must supply at least one api group"
        errors.append(required(f"{where}.apiGroups", why))
    if not resources:
        why = "resource rules must supply at least one resource"
        errors.append(required(f"{where}.resources", why))
    return errors


def _binding_errors(binding: Object) -> list[FieldError]:
    return _reference_errors(binding, ("Role", "ClusterRole"), namespaced=True)


def _cluster_binding_errors(binding: Object) -> list[FieldError]:
    return _reference_errors(binding, ("ClusterRole",), namespaced=False)


def _reference_errors(
    binding: Object, kinds: tuple[str, ...], *, namespaced: bool
) -> list[FieldError]:
    role = part(binding, "roleRef")
    errors = []
    if role.get("apiGroup") != GROUP:
        errors.append(not_supported("roleRef.apiGroup", role.get("apiGroup", ""), (GROUP,)))
    if role.get("kind") not in kinds:
        errors.append(not_supported("roleRef.kind", role.get("kind", ""), kinds))
    name = text(role, "name")
    if not name:
        errors.append(required("roleRef.name"))
    errors += [invalid("roleRef.name", name, why) for why in path_segment_faults(name)]
    for subject, where in each(parts(binding, "subjects"), "subjects"):
        errors += _subject_errors(subject, where, namespaced=namespaced)
    return errors


def _subject_errors(subject: Object, where: str, *, namespaced: bool) -> list[FieldError]:
    name, group = text(subject, "name"), text(subject, "apiGroup")
    errors = [] if name else [required(f"{where}.name")]
    match subject.get("kind"):
        case "ServiceAccount":
            errors += [
                invalid(f"{where}.name", name, why) for why in subdomain_faults(name) if name
            ]
            if group:
                errors.append(not_supported(f"{where}.apiGroup", group, ("",)))
            if not namespaced and not text(subject, "namespace"):
                errors.append(required(f"{where}.namespace"))
        case "User" | "Group":
            if group != GROUP:
                errors.append(not_supported(f"{where}.apiGroup", group, (GROUP,)))
        case kind:
            kinds = ("ServiceAccount", "User", "Group")
            errors.append(not_supported(f"{where}.kind", kind or "", kinds))
    return errors


def _role_unchanged(new: Object, old: Object) -> list[FieldError]:
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
        errors=_role_errors if namespaced else _cluster_role_errors,
    )


def _strategy_of_bindings(*, namespaced: bool) -> Strategy:
    return Strategy(
        creates_on_update=True,
        name_errors=path_segment_faults,
        default=_default_binding,
        errors=_binding_errors if namespaced else _cluster_binding_errors,
        update_errors=_role_unchanged,
    )


ROLE = _strategy_of_roles(namespaced=True)
CLUSTER_ROLE = _strategy_of_roles(namespaced=False)
ROLE_BINDING = _strategy_of_bindings(namespaced=True)
CLUSTER_ROLE_BINDING = _strategy_of_bindings(namespaced=False)
