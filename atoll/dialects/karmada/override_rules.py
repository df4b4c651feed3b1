"""For what override policies are refused, beyond their schema; objects come in well-formed.

As in Karmada, the rules in `overrideRules` are looked into, the deprecated fields beside them not.
"""

from collections.abc import Iterator

from atoll.dialects.karmada.admission import NO_NAME, affinity_problems
from atoll.dialects.karmada.policy_rules import selectors
from atoll.dialects.kubernetes.names import label_value_faults, qualified_faults
from atoll.dialects.wire import parts
from atoll.errors import Invalid
from atoll.wire import Object

_OLD_OVERRIDERS = (
    *("plaintext", "imageOverrider", "commandOverrider", "argsOverrider"),
    *("labelsOverrider", "annotationsOverrider"),
)
_NO_VALUE = "must be a label's value: at most 63 letters, digits, '-', '_' and '.', beginning and"
_NO_VALUE += " ending with a letter or digit"
_NO_POINTER = 'must be a JSON pointer: empty, or beginning with "/"'


def override(new: Object) -> Iterator[Invalid]:
    """What is wrong with an OverridePolicy or ClusterOverridePolicy."""
    spec = new["spec"]
    target, old = spec.get("targetCluster"), spec.get("overriders") or {}
    if target is not None:
        yield from affinity_problems(target, "spec.targetCluster")
    if spec.get("overrideRules") is not None:
        if target is not None:
            problem = "overrideRules and targetCluster can't co-exist"
            yield Invalid("spec.targetCluster", target, problem)
        if any(old.get(each) for each in _OLD_OVERRIDERS):
            problem = "overrideRules and overriders can't co-exist"
            yield Invalid("spec.overriders", old, problem)
    for here, rule in parts(spec, "overrideRules", "spec"):
        yield from _overriders(rule["overriders"], f"{here}.overriders")
        if rule.get("targetCluster") is not None:
            yield from affinity_problems(rule["targetCluster"], f"{here}.targetCluster")
    yield from selectors(spec, new["metadata"].get("namespace", ""))


def _overriders(overriders: Object, path: str) -> Iterator[Invalid]:
    for here, each in parts(overriders, "annotationsOverrider", path):
        for key, value in each["value"].items():
            if qualified_faults(key.lower()):
                yield Invalid(f"{here}.value[{key}]", value, f"the annotation {NO_NAME}")
    for here, each in parts(overriders, "labelsOverrider", path):
        for key, value in each["value"].items():
            if qualified_faults(key):
                yield Invalid(f"{here}.value[{key}]", value, f"the label {NO_NAME}")
            if label_value_faults(value):
                yield Invalid(f"{here}.value[{key}]", value, _NO_VALUE)
    for here, each in parts(overriders, "imageOverrider", path):
        predicate = each.get("predicate")
        if predicate is not None:
            yield from _pointer(predicate["path"], f"{here}.predicate.path")
    for here, each in parts(overriders, "fieldOverrider", path):
        yield from _field(each, here)


def _pointer(pointer: str, path: str) -> Iterator[Invalid]:
    if pointer and not pointer.startswith("/"):
        yield Invalid(path, pointer, _NO_POINTER)


def _field(overrider: Object, path: str) -> Iterator[Invalid]:
    both = bool(overrider.get("yaml")), bool(overrider.get("json"))
    if all(both):
        problem = "FieldOverrider has both YAML and JSON set. Only one is allowed"
        yield Invalid(path, dict(overrider), problem)
    if not any(both):
        yield Invalid(path, dict(overrider), "FieldOverrider must have either JSON or YAML set")
    yield from _pointer(overrider["fieldPath"], f"{path}.fieldPath")
    for notation in ("json", "yaml"):
        for here, patch in parts(overrider, notation, path):
            yield from _pointer(patch["subPath"], f"{here}.subPath")
            yield from _value(patch, here)


def _value(patch: Object, path: str) -> Iterator[Invalid]:
    if patch["operator"] == "remove":
        if "value" in patch:
            problem = "value is not allowed for remove operation"
            yield Invalid(f"{path}.value", patch["value"], problem)
    elif "value" not in patch:
        yield Invalid(f"{path}.value", None, "value is required for add or replace operation")
