"""What pods and nodes are born with, beyond what they say: account, priority, runtime, patience.

A new object and what administrators have set up come in; the object as it will be goes out. A pod
runs as a service account only where pods run: in a plane it is a template, and a token would be
wrong elsewhere."""

from collections.abc import Callable, Iterable, Mapping

from atoll.apiserver.admitting.refused import Refused
from atoll.apiserver.kinds.reading import part, parts, text
from atoll.apiserver.objects.metadata import metadata
from atoll.model.quantity import parse
from atoll.wire import Wire

IN_TROUBLE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
PATIENCE_S = 300


def patient(pod: Wire) -> Wire:
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


def merged(first: Iterable[Wire], second: Iterable[Wire]) -> list[Wire]:
    """All of both, without those that say no more than a wider one does; of equals, the first."""
    every = [*first, *second]
    kept: list[Wire] = []
    for index, one in enumerate(every):
        later = (other for other in every[index + 1 :] if other != one)
        if not any(_covers(other, one) for other in (*kept, *later)):
            kept.append(one)
    return kept


def _covers(wide: Wire, narrow: Wire) -> bool:
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


_OTHER = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_UNFOUNDED = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


def with_runtime(pod: Wire, classes: Mapping[str, Wire]) -> Wire:
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


def check(pod: Wire, classes: Mapping[str, Wire]) -> None:
    """Refused if a pod's overhead is not that of its class."""
    chosen = _class_of(pod, classes)
    given = part(pod, "spec").get("overhead")
    if chosen is None or not part(chosen, "overhead"):
        if given is not None:
            raise Refused(_UNFOUNDED)
    elif not _same(given or {}, part(chosen, "overhead", "podFixed")):
        raise Refused(_OTHER)


def _class_of(pod: Wire, classes: Mapping[str, Wire]) -> Wire | None:
    name = part(pod, "spec").get("runtimeClassName")
    if name is None:
        return None
    if name not in classes:
        raise Refused(f'pod rejected: RuntimeClass "{name}" not found')
    return classes[name]


def _same(one: Wire, other: Wire) -> bool:
    """Whether the amounts are the same, however they are written."""
    return one.keys() == other.keys() and all(
        parse(amount) == parse(other[name]) for name, amount in one.items()
    )


_POLICY = "PreemptLowerPriority"
_NO_CLASS: Wire = {"value": 0, "preemptionPolicy": _POLICY}


def default_class(classes: Mapping[str, Wire]) -> Wire | None:
    """The class of pods that name none; the lowest, should there be several."""
    found = [one for one in classes.values() if one.get("globalDefault")]
    return min(found, key=lambda one: one.get("value", 0)) if found else None


def prioritized(pod: Wire, classes: Mapping[str, Wire]) -> Wire:
    """The pod with the priority of its class."""
    spec = part(pod, "spec")
    name = text(spec, "priorityClassName")
    chosen = classes.get(name) if name else default_class(classes) or _NO_CLASS
    if chosen is None:
        raise Refused(f"no PriorityClass with name {name} was found")
    value, policy = chosen.get("value", 0), chosen.get("preemptionPolicy")
    more: Wire = {"priority": value}
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


def kept(pod: Wire, old: Wire) -> Wire:
    """A changed pod with the priority it was born with, where whoever changed it left that out."""
    spec, before = part(pod, "spec"), part(old, "spec")
    fields = ("priority", "preemptionPolicy")
    lost = {
        key: before[key] for key in fields if spec.get(key) is None and before.get(key) is not None
    }
    return {**pod, "spec": {**spec, **lost}} if lost else pod


def check_default(wanted: Wire, classes: Mapping[str, Wire], *, is_new: bool) -> None:
    """Refused if a class wants to be the default while another one is."""
    there = default_class(classes) if wanted.get("globalDefault") else None
    if there is None:
        return
    name = there["metadata"]["name"]
    if is_new or name != wanted["metadata"]["name"]:
        why = f"PriorityClass {name} is already marked as default. Only one default can exist"
        raise Refused(why)


NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def not_ready(node: Wire) -> Wire:
    """The node with this taint, unless it has it already."""
    spec = part(node, "spec")
    there = parts(spec, "taints")
    if any(all(one.get(key) == NOT_READY[key] for key in NOT_READY) for one in there):
        return node
    return {**node, "spec": {**spec, "taints": [*there, dict(NOT_READY)]}}


DEFAULT = "default"
VOLUME = "kube-api-access-"
PLACE = "/var/run/secrets/kubernetes.io/serviceaccount"
_MIRROR = "kubernetes.io/config.mirror"
_TOKEN_S = 3607  # as Kubernetes has it: an hour and a mark by which such tokens are told
_READABLE = 420


def running_as(
    pod: Wire, account_of: Callable[[str], Wire | None], letters: Callable[[], str]
) -> Wire:
    """The pod with its account, that one's pull secrets, and its token in every container."""
    if _MIRROR in (metadata(pod).get("annotations") or {}):
        return pod
    spec = dict(part(pod, "spec"))
    name = text(spec, "serviceAccountName") or DEFAULT
    account = account_of(name)
    namespace = text(pod, "metadata", "namespace")
    if account is None:
        why = f'serviceaccount "{name}" not found'
        raise Refused(f"error looking up service account {namespace}/{name}: {why}")
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    if _wants_token(account, spec):
        spec = _with_token(spec, letters)
    if not parts(spec, "imagePullSecrets") and parts(account, "imagePullSecrets"):
        spec["imagePullSecrets"] = parts(account, "imagePullSecrets")
    return {**pod, "spec": spec}


def _wants_token(account: Wire, spec: Wire) -> bool:
    for one in (spec, account):
        wish = one.get("automountServiceAccountToken")
        if wish is not None:
            return bool(wish)
    return True


def _with_token(spec: Wire, letters: Callable[[], str]) -> Wire:
    volumes = parts(spec, "volumes")
    known = [text(one, "name") for one in volumes if text(one, "name").startswith(VOLUME)]
    name = known[0] if known else VOLUME + letters()
    mount = {"name": name, "readOnly": True, "mountPath": PLACE}
    mounted: Wire = {}
    for kind in ("initContainers", "containers"):
        if containers := parts(spec, kind):
            mounted[kind] = [_mounting(container, mount) for container in containers]
    needed = any(
        new is not old
        for kind in mounted
        for new, old in zip(mounted[kind], spec[kind], strict=True)
    )
    if needed and not known:
        mounted["volumes"] = [*volumes, {"name": name, "projected": _projected()}]
    return {**spec, **mounted}


def _mounting(container: Wire, mount: Wire) -> Wire:
    mounts = parts(container, "volumeMounts")
    if any(text(one, "mountPath") == PLACE for one in mounts):
        return container
    return {**container, "volumeMounts": [*mounts, mount]}


def _projected() -> Wire:
    root = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "defaultMode": _READABLE,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_S, "path": "token"}},
            {"configMap": root},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
        ],
    }
