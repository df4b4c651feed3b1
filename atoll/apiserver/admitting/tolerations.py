"""Tolerations that pods are given: to stay for a while on a node that is in trouble."""

from collections.abc import Iterable

from atoll.apiserver.kinds.reading import Object, part, parts

IN_TROUBLE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
PATIENCE_S = 300


def patient(pod: Object) -> Object:
    """The pod that stays five minutes on a node in trouble, unless it says otherwise."""
    spec = part(pod, "spec")
    given = parts(spec, "tolerations")
    known = {one.get("key") or "" for one in given if one.get("effect") in (None, "", "NoExecute")}
    if "" in known:
        return pod
    more = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": PATIENCE_S}
        for key in IN_TROUBLE
        if key not in known
    ]
    return {**pod, "spec": {**spec, "tolerations": [*given, *more]}} if more else pod


def merged(first: Iterable[Object], second: Iterable[Object]) -> list[Object]:
    """All of both, without those that say no more than a wider one does; of equals, the first."""
    every = [*first, *second]
    kept: list[Object] = []
    for index, one in enumerate(every):
        later = (other for other in every[index + 1 :] if other != one)
        if not any(_covers(other, one) for other in (*kept, *later)):
            kept.append(one)
    return kept


def _covers(wide: Object, narrow: Object) -> bool:
    """Whether whatever the narrow one tolerates is tolerated by the wide one."""
    if wide == narrow:
        return True
    any_value = wide.get("operator") == "Exists"
    if wide.get("key") != narrow.get("key") and (wide.get("key") or not any_value):
        return False
    if wide.get("effect") and wide["effect"] != narrow.get("effect"):
        return False
    longest = wide.get("tolerationSeconds") if wide.get("effect") == "NoExecute" else None
    if longest is not None:
        span = narrow.get("tolerationSeconds")
        if span is None or span > longest:
            return False
    same_value = (narrow.get("value") or "") == (wide.get("value") or "")
    return any_value or (narrow.get("operator") == "Equal" and same_value)
