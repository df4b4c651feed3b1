"""Pods run as a service account, and find its token where programs look for it.

A new pod and the accounts of its namespace come in; the pod as it will run goes out. Only where
pods run: a pod in a plane is a template, and what is added here would be wrong elsewhere.
"""

from collections.abc import Callable

from atoll.apiserver.admitting.refused import Refused
from atoll.apiserver.kinds.reading import Object, part, parts, text
from atoll.apiserver.objects.metadata import metadata

DEFAULT = "default"
VOLUME = "kube-api-access-"
PLACE = "/var/run/secrets/kubernetes.io/serviceaccount"
_MIRROR = "kubernetes.io/config.mirror"
_TOKEN_S = 3607  # as Kubernetes has it: an hour and a mark by which such tokens are told
_READABLE = 420


def running_as(
    pod: Object, account_of: Callable[[str], Object | None], letters: Callable[[], str]
) -> Object:
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


def _wants_token(account: Object, spec: Object) -> bool:
    for one in (spec, account):
        wish = one.get("automountServiceAccountToken")
        if wish is not None:
            return bool(wish)
    return True


def _with_token(spec: Object, letters: Callable[[], str]) -> Object:
    volumes = parts(spec, "volumes")
    known = [text(one, "name") for one in volumes if text(one, "name").startswith(VOLUME)]
    name = known[0] if known else VOLUME + letters()
    mount = {"name": name, "readOnly": True, "mountPath": PLACE}
    mounted: Object = {}
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


def _mounting(container: Object, mount: Object) -> Object:
    mounts = parts(container, "volumeMounts")
    if any(text(one, "mountPath") == PLACE for one in mounts):
        return container
    return {**container, "volumeMounts": [*mounts, mount]}


def _projected() -> Object:
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
