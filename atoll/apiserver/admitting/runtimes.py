"""RuntimeClasses: what running a pod in a certain way costs, and on which nodes it is possible."""

from collections.abc import Mapping

from atoll.apiserver.admitting.refused import Refused
from atoll.apiserver.admitting.tolerations import merged
from atoll.apiserver.kinds.reading import Object, part, parts
from atoll.model.quantity import parse

_OTHER = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_UNFOUNDED = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


def with_runtime(pod: Object, classes: Mapping[str, Object]) -> Object:
    """The pod with what its class adds: overhead, and where it can run."""
    chosen = _class_of(pod, classes)
    if chosen is None:
        return pod
    spec = dict(part(pod, "spec"))
    overhead = part(chosen, "overhead", "podFixed")
    if part(chosen, "overhead"):
        if part(spec, "overhead") and not _same(part(spec, "overhead"), overhead):
            raise Refused(_OTHER)
        spec["overhead"] = overhead
    if chosen.get("scheduling") is not None:
        wanted = part(chosen, "scheduling", "nodeSelector")
        selector = part(spec, "nodeSelector")
        for key, value in sorted(wanted.items()):
            if selector.get(key, value) != value:
                raise Refused(
                    f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value};"
                    f" pod.spec.nodeSelector[{key}] = {selector[key]}"
                )
        tolerated = merged(parts(spec, "tolerations"), parts(chosen, "scheduling", "tolerations"))
        spec |= {"nodeSelector": {**selector, **wanted}} if wanted else {}
        spec |= {"tolerations": tolerated} if tolerated else {}
    return {**pod, "spec": spec}


def check(pod: Object, classes: Mapping[str, Object]) -> None:
    """Refused if a pod's overhead is not that of its class."""
    chosen = _class_of(pod, classes)
    given = part(pod, "spec").get("overhead")
    if chosen is None or not part(chosen, "overhead"):
        if given is not None:
            raise Refused(_UNFOUNDED)
    elif not _same(given or {}, part(chosen, "overhead", "podFixed")):
        raise Refused(_OTHER)


def _class_of(pod: Object, classes: Mapping[str, Object]) -> Object | None:
    name = part(pod, "spec").get("runtimeClassName")
    if name is None:
        return None
    if name not in classes:
        raise Refused(f'pod rejected: RuntimeClass "{name}" not found')
    return classes[name]


def _same(one: Object, other: Object) -> bool:
    """Whether the amounts are the same, however they are written."""
    return one.keys() == other.keys() and all(
        parse(amount) == parse(other[name]) for name, amount in one.items()
    )
