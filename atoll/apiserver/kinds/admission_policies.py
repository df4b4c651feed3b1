"""Admission policies and their bindings, as kinds: defaults and rules.

What their expressions say is judged by `conditions.judging`, and whether they hold of a write is
the business of `policies`; here they only have to be there.
"""

from atoll.apiserver.cel.names import is_identifier
from atoll.apiserver.fields.error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
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
from atoll.apiserver.kinds.reading import Object, each, given, grown, items, part, parts, text
from atoll.apiserver.kinds.rules import one_of
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import (
    path_segment_faults,
    qualified_faults,
    rfc1035_faults,
    subdomain_faults,
)

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


def _default_policy(policy: Object) -> None:
    spec = grown(policy, "spec")
    if spec.get("failurePolicy") is None:
        spec["failurePolicy"] = "Fail"
    _default_constraints(given(spec, "matchConstraints"))


def _default_binding(binding: Object) -> None:
    _default_constraints(given(binding, "spec", "matchResources"))


def _default_constraints(match: Object | None) -> None:
    if match is not None:
        default_match(match)
        default_rules(parts(match, "resourceRules"))
        default_rules(parts(match, "excludeResourceRules"))


def _policy_errors(spec: Object) -> list[FieldError]:
    """What validating and mutating policies have in common."""
    errors = one_of(spec, "spec", "failurePolicy", FAILURE_POLICIES)
    if (kind := given(spec, "paramKind")) is not None:
        errors += _param_kind_errors(kind, "spec.paramKind")
    match = given(spec, "matchConstraints")
    if match is None:
        errors.append(required("spec.matchConstraints"))
    else:
        errors += match_errors(match, "spec.matchConstraints")
        if not parts(match, "resourceRules"):
            errors.append(required("spec.matchConstraints.resourceRules"))
    return errors


def _faults(spec: Object) -> list[FieldError]:
    # The language is loaded when somebody first speaks it.
    from atoll.apiserver.conditions.judging import policy_faults

    return policy_faults(spec)


def _rest_errors(spec: Object) -> list[FieldError]:
    errors = condition_errors(parts(spec, "matchConditions"), "spec.matchConditions")
    for variable, where in each(parts(spec, "variables"), "spec.variables"):
        name = text(variable, "name")
        if not name.strip():
            errors.append(required(f"{where}.name", "name is not specified"))
        elif not is_identifier(name):
            errors.append(invalid(f"{where}.name", name, "must be a valid CEL identifier"))
        errors += _expression_errors(variable, where)
    return errors


def _expression_errors(obj: Object, path: str) -> list[FieldError]:
    if text(obj, "expression").strip():
        return []
    return [required(f"{path}.expression", "expression is not specified")]


def _param_kind_errors(kind: Object, path: str) -> list[FieldError]:
    version, name = text(kind, "apiVersion"), text(kind, "kind")
    errors = _api_version_errors(version, f"{path}.apiVersion")
    if not name:
        errors.append(required(f"{path}.kind"))
    elif faults := rfc1035_faults(name.lower()):
        why = "may have mixed case, but should otherwise match: " + ",".join(faults)
        errors.append(invalid(f"{path}.kind", name, why))
    return errors


def _api_version_errors(written: str, where: str) -> list[FieldError]:
    if not written:
        return [required(where)]
    if written.count("/") > 1:
        return [invalid(where, written, f"unexpected GroupVersion string: {written}")]
    group, _, version = written.rpartition("/")
    errors = []
    if group and (faults := subdomain_faults(group)):
        errors.append(invalid(where, group, ",".join(faults)))
    if not version:
        errors.append(invalid(where, written, "version must be specified"))
    elif faults := rfc1035_faults(version):
        errors.append(invalid(where, version, ",".join(faults)))
    return errors


def _validating_errors(policy: Object) -> list[FieldError]:
    spec = part(policy, "spec")
    errors = _policy_errors(spec) + _rest_errors(spec) + _faults(spec)
    validations, annotations = parts(spec, "validations"), parts(spec, "auditAnnotations")
    if not validations and not annotations:
        absent = ("spec.validations", "spec.auditAnnotations")
        return errors + [required(field, _AT_LEAST_ONE) for field in absent]
    for validation, where in each(validations, "spec.validations"):
        errors += _validation_errors(validation, where)
    if len(annotations) > _ANNOTATIONS_MAX:
        why = f"must not have more than {_ANNOTATIONS_MAX} auditAnnotations"
        errors.append(invalid("spec.auditAnnotations", annotations, why))
    keys: set[str] = set()
    for annotation, where in each(annotations, "spec.auditAnnotations"):
        key = text(annotation, "key")
        full = f"{text(policy, 'metadata', 'name')}/{key}"
        errors += [invalid(f"{where}.key", full, fault) for fault in qualified_faults(full)]
        if not text(annotation, "valueExpression").strip():
            why = "valueExpression is not specified"
            errors.append(required(f"{where}.valueExpression", why))
        if key in keys:
            errors.append(duplicate(f"{where}.key", key))
        keys.add(key)
    return errors


def _validation_errors(validation: Object, path: str) -> list[FieldError]:
    errors = _expression_errors(validation, path)
    for key in ("messageExpression", "message"):
        written = text(validation, key)
        if written and not written.strip():
            errors.append(invalid(f"{path}.{key}", written, "must be non-empty if specified"))
    message = text(validation, "message").strip()
    if "\n" in message or "\r" in message:
        written = text(validation, "message")
        errors.append(invalid(f"{path}.message", written, "must not contain line breaks"))
    return errors + one_of(validation, path, "reason", _REASONS)


def _mutating_errors(policy: Object) -> list[FieldError]:
    spec = part(policy, "spec")
    errors = _policy_errors(spec)
    errors += _operation_errors(spec, "matchConstraints") + _rest_errors(spec)
    errors += _faults(spec)
    mutations = parts(spec, "mutations")
    if not mutations:
        errors.append(required("spec.mutations", "mutations must contain at least one item"))
    for mutation, where in each(mutations, "spec.mutations"):
        errors += _mutation_errors(mutation, where)
    if not text(spec, "reinvocationPolicy"):
        return [*errors, required("spec.reinvocationPolicy")]
    return errors + one_of(spec, "spec", "reinvocationPolicy", REINVOCATION_POLICIES)


def _operation_errors(spec: Object, match: str) -> list[FieldError]:
    """What goes cannot be changed."""
    where = f"spec.{match}.resourceRules.operations"
    return [
        not_supported(where, operation, _MUTABLE)
        for rule in parts(spec, match, "resourceRules")
        for operation in items(rule, "operations")
        if operation not in _MUTABLE
    ]


_MUTATIONS = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}


def _mutation_errors(mutation: Object, path: str) -> list[FieldError]:
    patch_type = text(mutation, "patchType")
    if not patch_type:
        return [required(f"{path}.patchType")]
    if patch_type not in _MUTATIONS:
        return [not_supported(f"{path}.patchType", patch_type, tuple(_MUTATIONS))]
    errors = []
    for kind, key in _MUTATIONS.items():
        said = given(mutation, key)
        if kind == patch_type and said is None:
            why = f"must be specified when patchType is {kind}"
            errors.append(required(f"{path}.{key}", why))
        elif said is not None and kind != patch_type:
            why = f"must not be specified when patchType is {patch_type}"
            errors.append(invalid(f"{path}.{key}", f"{{{key}}}", why))
        elif said is not None and not text(said, "expression").strip():
            errors.append(required(f"{path}.{key}.expression"))
    return errors


def _binding_errors(binding: Object) -> list[FieldError]:
    """What bindings of both sorts have in common."""
    spec = part(binding, "spec")
    name, reference = text(spec, "policyName"), given(spec, "paramRef")
    where = "spec.policyName"
    errors = [invalid(where, name, fault) for fault in subdomain_faults(name)] if name else []
    if not name:
        errors.append(required(where))
    if reference is not None:
        errors += _reference_errors(reference, "spec.paramRef")
    match = given(spec, "matchResources")
    return errors if match is None else errors + match_errors(match, "spec.matchResources")


def _reference_errors(reference: Object, path: str) -> list[FieldError]:
    name, selector = text(reference, "name"), given(reference, "selector")
    errors = [invalid(f"{path}.name", name, fault) for fault in path_segment_faults(name)]
    if name and selector is not None:
        errors.append(forbidden(f"{path}.name", _EITHER))
    if selector is not None:
        errors += selector_errors(selector, f"{path}.selector")
        if name:
            errors.append(forbidden(f"{path}.selector", _EITHER))
    if not name and selector is None:
        errors.append(required(path, "one of name or selector must be specified"))
    if not text(reference, "parameterNotFoundAction"):
        return [*errors, required(f"{path}.parameterNotFoundAction")]
    return errors + one_of(reference, path, "parameterNotFoundAction", _NOT_FOUND_ACTIONS)


def _validating_binding_errors(binding: Object) -> list[FieldError]:
    path, actions = "spec.validationActions", items(part(binding, "spec"), "validationActions")
    errors = _binding_errors(binding)
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            errors.append(not_supported(f"{path}[{index}]", action, _ACTIONS))
        if action in actions[:index]:
            errors.append(duplicate(f"{path}[{index}]", action))
    if "Deny" in actions and "Warn" in actions:
        errors.append(invalid(path, actions, _BOTH))
    if not actions:
        errors.append(required(path, "at least one validation action is required"))
    return errors


def _mutating_binding_errors(binding: Object) -> list[FieldError]:
    return _binding_errors(binding) + _operation_errors(part(binding, "spec"), "matchResources")


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
