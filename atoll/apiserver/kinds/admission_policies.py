"""Admission policies and their bindings, as kinds: defaults and rules.

What their expressions say is judged by `conditions.judging`, and whether they hold of a write is
the business of `policies`; here they only have to be there.
"""

from atoll.apiserver.cel.names import is_identifier
from atoll.apiserver.fields.error import (
    Errors,
    duplicate,
    faulty,
    forbidden,
    invalid,
    named,
    not_supported,
    required,
)
from atoll.apiserver.kinds.admission_rules import (
    FAILURE_POLICIES,
    REINVOCATION_POLICIES,
    condition_errors,
    default_match,
    default_rules,
    match_errors,
)
from atoll.apiserver.kinds.labels import selector_errors
from atoll.apiserver.kinds.reading import each, given, grown, items, part, parts, text
from atoll.apiserver.kinds.rules import chosen, if_given, in_each, needed, one_of, unique
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import (
    path_segment_faults,
    qualified_faults,
    rfc1035_faults,
    subdomain_faults,
)
from atoll.wire import Wire

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
_NOT_FOUND_ACTIONS = ("Deny", "Allow")
_MUTABLE = ("*", "CONNECT", "CREATE", "UPDATE")
_ANNOTATIONS_MAX = 20
_AT_LEAST_ONE = "validations or auditAnnotations must contain at least one item"
_BOTH = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the"
    " API response and headers serves no purpose)"
)
_EITHER = "name and selector are mutually exclusive"


def _default_policy(policy: Wire) -> None:
    spec = grown(policy, "spec")
    if spec.get("failurePolicy") is None:
        spec["failurePolicy"] = "Fail"
    _default_constraints(given(spec, "matchConstraints"))


def _default_binding(binding: Wire) -> None:
    _default_constraints(given(binding, "spec", "matchResources"))


def _default_constraints(match: Wire | None) -> None:
    if match is not None:
        default_match(match)
        default_rules(parts(match, "resourceRules"))
        default_rules(parts(match, "excludeResourceRules"))


def _policy_errors(spec: Wire) -> Errors:
    """What validating and mutating policies have in common."""
    yield from one_of(spec, "spec", "failurePolicy", FAILURE_POLICIES)
    yield from if_given(spec, "spec", "paramKind", _param_kind_errors)
    match = given(spec, "matchConstraints")
    if match is None:
        yield required("spec.matchConstraints")
    else:
        yield from match_errors(match, "spec.matchConstraints")
        if not parts(match, "resourceRules"):
            yield required("spec.matchConstraints.resourceRules")


def _faults(spec: Wire) -> Errors:
    # The language is loaded when somebody first speaks it.
    from atoll.apiserver.conditions.judging import policy_faults

    return policy_faults(spec)


def _rest_errors(spec: Wire) -> Errors:
    yield from condition_errors(parts(spec, "matchConditions"), "spec.matchConditions")
    for variable, where in each(parts(spec, "variables"), "spec.variables"):
        name = text(variable, "name")
        if not name.strip():
            yield required(f"{where}.name", "name is not specified")
        elif not is_identifier(name):
            yield invalid(f"{where}.name", name, "must be a valid CEL identifier")
        yield from _expression_errors(variable, where)


def _expression_errors(obj: Wire, path: str) -> Errors:
    if text(obj, "expression").strip():
        return []
    return [required(f"{path}.expression", "expression is not specified")]


def _param_kind_errors(kind: Wire, path: str) -> Errors:
    version, name = text(kind, "apiVersion"), text(kind, "kind")
    yield from _api_version_errors(version, f"{path}.apiVersion")
    if not name:
        yield required(f"{path}.kind")
    elif faults := rfc1035_faults(name.lower()):
        why = "may have mixed case, but should otherwise match: " + ",".join(faults)
        yield invalid(f"{path}.kind", name, why)


def _api_version_errors(written: str, where: str) -> Errors:
    if not written:
        yield required(where)
        return
    if written.count("/") > 1:
        yield invalid(where, written, f"unexpected GroupVersion string: {written}")
        return
    group, _, version = written.rpartition("/")
    if group and (faults := subdomain_faults(group)):
        yield invalid(where, group, ",".join(faults))
    if not version:
        yield invalid(where, written, "version must be specified")
    elif faults := rfc1035_faults(version):
        yield invalid(where, version, ",".join(faults))


def _validating_errors(policy: Wire) -> Errors:
    spec = part(policy, "spec")
    yield from _policy_errors(spec)
    yield from _rest_errors(spec)
    yield from _faults(spec)
    validations, annotations = parts(spec, "validations"), parts(spec, "auditAnnotations")
    if not validations and not annotations:
        absent = ("spec.validations", "spec.auditAnnotations")
        yield from (required(field, _AT_LEAST_ONE) for field in absent)
        return
    yield from in_each(spec, "spec", "validations", _validation_errors)
    if len(annotations) > _ANNOTATIONS_MAX:
        why = f"must not have more than {_ANNOTATIONS_MAX} auditAnnotations"
        yield invalid("spec.auditAnnotations", annotations, why)
    keys: set[str] = set()
    for annotation, where in each(annotations, "spec.auditAnnotations"):
        key = text(annotation, "key")
        full = f"{text(policy, 'metadata', 'name')}/{key}"
        yield from faulty(f"{where}.key", full, qualified_faults(full))
        if not text(annotation, "valueExpression").strip():
            yield required(f"{where}.valueExpression", "valueExpression is not specified")
        yield from unique(keys, key, f"{where}.key")


def _validation_errors(validation: Wire, path: str) -> Errors:
    yield from _expression_errors(validation, path)
    for key in ("messageExpression", "message"):
        written = text(validation, key)
        if written and not written.strip():
            yield invalid(f"{path}.{key}", written, "must be non-empty if specified")
    message = text(validation, "message").strip()
    if "\n" in message or "\r" in message:
        written = text(validation, "message")
        yield invalid(f"{path}.message", written, "must not contain line breaks")
    yield from one_of(validation, path, "reason", _REASONS)


def _mutating_errors(policy: Wire) -> Errors:
    spec = part(policy, "spec")
    yield from _policy_errors(spec)
    yield from _operation_errors(spec, "matchConstraints")
    yield from _rest_errors(spec)
    yield from _faults(spec)
    mutations = parts(spec, "mutations")
    if not mutations:
        yield required("spec.mutations", "mutations must contain at least one item")
    for mutation, where in each(mutations, "spec.mutations"):
        yield from _mutation_errors(mutation, where)
    yield from _said(spec, "spec", "reinvocationPolicy", REINVOCATION_POLICIES)


def _said(obj: Wire, path: str, key: str, allowed: tuple[str, ...]) -> Errors:
    """A choice that has to be made."""
    return chosen(obj, path, key, allowed) if text(obj, key) else needed(obj, path, key)


def _operation_errors(spec: Wire, match: str) -> Errors:
    """What goes cannot be changed."""
    where = f"spec.{match}.resourceRules.operations"
    return [
        not_supported(where, operation, _MUTABLE)
        for rule in parts(spec, match, "resourceRules")
        for operation in items(rule, "operations")
        if operation not in _MUTABLE
    ]


_MUTATIONS = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}


def _mutation_errors(mutation: Wire, path: str) -> Errors:
    patch_type = text(mutation, "patchType")
    if patch_type not in _MUTATIONS:
        yield from _said(mutation, path, "patchType", tuple(_MUTATIONS))
        return
    for kind, key in _MUTATIONS.items():
        said = given(mutation, key)
        if kind == patch_type and said is None:
            yield required(f"{path}.{key}", f"must be specified when patchType is {kind}")
        elif said is not None and kind != patch_type:
            why = f"must not be specified when patchType is {patch_type}"
            yield invalid(f"{path}.{key}", f"{{{key}}}", why)
        elif said is not None and not text(said, "expression").strip():
            yield required(f"{path}.{key}.expression")


def _binding_errors(binding: Wire) -> Errors:
    """What bindings of both sorts have in common."""
    spec = part(binding, "spec")
    yield from named("spec.policyName", text(spec, "policyName"), subdomain_faults)
    yield from if_given(spec, "spec", "paramRef", _reference_errors)
    yield from if_given(spec, "spec", "matchResources", match_errors)


def _reference_errors(reference: Wire, path: str) -> Errors:
    name, selector = text(reference, "name"), given(reference, "selector")
    yield from faulty(f"{path}.name", name, path_segment_faults(name))
    if name and selector is not None:
        yield forbidden(f"{path}.name", _EITHER)
    if selector is not None:
        yield from selector_errors(selector, f"{path}.selector")
        if name:
            yield forbidden(f"{path}.selector", _EITHER)
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    yield from _said(reference, path, "parameterNotFoundAction", _NOT_FOUND_ACTIONS)


def _validating_binding_errors(binding: Wire) -> Errors:
    path, actions = "spec.validationActions", items(part(binding, "spec"), "validationActions")
    yield from _binding_errors(binding)
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            yield not_supported(f"{path}[{index}]", action, _ACTIONS)
        if action in actions[:index]:
            yield duplicate(f"{path}[{index}]", action)
    if "Deny" in actions and "Warn" in actions:
        yield invalid(path, actions, _BOTH)
    if not actions:
        yield required(path, "at least one validation action is required")


def _mutating_binding_errors(binding: Wire) -> Errors:
    yield from _binding_errors(binding)
    yield from _operation_errors(part(binding, "spec"), "matchResources")


VALIDATING_POLICY = Strategy(
    tracks_generation=True,
    has_status=True,
    unconditional_update=False,
    default=_default_policy,
    errors=_validating_errors,
)
MUTATING_POLICY = Strategy(
    tracks_generation=True,
    unconditional_update=False,
    default=_default_policy,
    errors=_mutating_errors,
)
VALIDATING_BINDING = Strategy(
    tracks_generation=True,
    unconditional_update=False,
    default=_default_binding,
    errors=_validating_binding_errors,
)
MUTATING_BINDING = Strategy(
    tracks_generation=True,
    unconditional_update=False,
    default=_default_binding,
    errors=_mutating_binding_errors,
)
