"""PriorityClasses: a pod's priority is that of the class it names, or of the default one."""

from collections.abc import Mapping

from atoll.apiserver.admitting.refused import Refused
from atoll.apiserver.kinds.reading import Object, part, text

_POLICY = "PreemptLowerPriority"
_NO_CLASS: Object = {"value": 0, "preemptionPolicy": _POLICY}


def default_class(classes: Mapping[str, Object]) -> Object | None:
    """The class of pods that name none; the lowest, should there be several."""
    found = [one for one in classes.values() if one.get("globalDefault")]
    return min(found, key=lambda one: one.get("value", 0)) if found else None


def prioritized(pod: Object, classes: Mapping[str, Object]) -> Object:
    """The pod with the priority of its class."""
    spec = part(pod, "spec")
    name = text(spec, "priorityClassName")
    chosen = classes.get(name) if name else default_class(classes) or _NO_CLASS
    if chosen is None:
        raise Refused(f"no PriorityClass with name {name} was found")
    value, policy = chosen.get("value", 0), chosen.get("preemptionPolicy")
    more: Object = {"priority": value}
    if chosen is not _NO_CLASS:
        more["priorityClassName"] = name or chosen["metadata"]["name"]
    if spec.get("priority") not in (None, value):
        raise Refused(
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec;"
            f" priority admission controller computed {value} from the given PriorityClass name"
        )
    if policy is not None:
        given = spec.get("preemptionPolicy")
        if given not in (None, policy):
            raise Refused(
                f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec;"
                f" priority admission controller computed {policy} from the given PriorityClass"
                " name"
            )
        more["preemptionPolicy"] = policy
    return {**pod, "spec": {**spec, **more}}


def kept(pod: Object, old: Object) -> Object:
    """A changed pod with the priority it was born with, where whoever changed it left that out."""
    spec, before = part(pod, "spec"), part(old, "spec")
    fields = ("priority", "preemptionPolicy")
    lost = {
        key: before[key] for key in fields if spec.get(key) is None and before.get(key) is not None
    }
    return {**pod, "spec": {**spec, **lost}} if lost else pod


def check_default(wanted: Object, classes: Mapping[str, Object], *, is_new: bool) -> None:
    """Refused if a class wants to be the default while another one is."""
    there = default_class(classes) if wanted.get("globalDefault") else None
    if there is None:
        return
    name = there["metadata"]["name"]
    if is_new or name != wanted["metadata"]["name"]:
        why = f"PriorityClass {name} is already marked as default. Only one default can exist"
        raise Refused(why)
