"""The defaults of pods, of pod templates inside workloads, and of volumes and claims; in place."""

from typing import Any

from atoll.apiserver.kinds.reading import fill, fill_zero, given, grown, part, parts, text
from atoll.wire import Wire

_FILE_MODE = 0o644

# What each kind of volume gets; persistent volumes know a few of them too.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "secret": {"defaultMode": _FILE_MODE},
    "configMap": {"defaultMode": _FILE_MODE},
    "downwardAPI": {"defaultMode": _FILE_MODE},
    "projected": {"defaultMode": _FILE_MODE},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {
        "cachingMode": "ReadWrite",
        "kind": "Shared",
        "fsType": "ext4",
        "readOnly": False,
    },
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def default_volume(volume: Wire) -> None:
    """Default a pod's volume; one without any source is an empty directory."""
    if not any(key != "name" and value is not None for key, value in volume.items()):
        volume["emptyDir"] = {}
    default_source(volume)
    if "downwardAPI" in volume:
        _default_downward(part(volume, "downwardAPI"))
    for source in parts(volume, "projected", "sources") if "projected" in volume else ():
        token = given(source, "serviceAccountToken")
        if token is not None:
            fill(token, expirationSeconds=3600)
        _default_downward(part(source, "downwardAPI"))


def default_source(volume: Wire) -> None:
    """Default what pods' volumes and persistent volumes have in common."""
    for kind, source in volume.items():
        if kind in _DEFAULTS and isinstance(source, dict):
            fill(source, **_DEFAULTS[kind])
    host = volume.get("hostPath")
    if isinstance(host, dict) and host.get("type") is None:
        host["type"] = ""


def _default_downward(source: Wire) -> None:
    for item in parts(source, "items"):
        if isinstance(item.get("fieldRef"), dict):
            fill(item["fieldRef"], apiVersion="v1")


def default_claim_spec(spec: Wire) -> None:
    fill(spec, volumeMode="Filesystem")


_CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")


def default_template(owner: Wire, *path: str) -> None:
    """Default the pod template at this path of an object."""
    template = grown(owner, *path)
    grown(template, "metadata")
    default_pod_spec(grown(template, "spec"))


def default_pod_spec(spec: Wire) -> None:
    """What every pod spec gets, be it a pod's own or a template's."""
    fill(
        spec,
        dnsPolicy="ClusterFirst",
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        securityContext={},
        schedulerName="default-scheduler",
    )
    account = text(spec, "serviceAccountName") or text(spec, "serviceAccount")
    if account:  # the second name is the deprecated one; both are always written
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for kind in _CONTAINER_LISTS:
        for container in parts(spec, kind):
            default_container(container)
    for volume in parts(spec, "volumes"):
        default_volume(volume)
        claim = given(volume, "ephemeral", "volumeClaimTemplate")
        if claim is not None:
            default_claim_spec(grown(claim, "spec"))


def default_container(container: Wire) -> None:
    fill(
        container,
        resources={},
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy=_pull_policy(text(container, "image")),
    )
    for port in parts(container, "ports"):
        fill(port, protocol="TCP")
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in container:
            _default_probe(part(container, probe))
    if "lifecycle" in container:
        for moment in ("postStart", "preStop"):
            _default_handler(part(container, "lifecycle", moment))
    for variable in parts(container, "env"):
        if "valueFrom" in variable:
            _default_source(part(variable, "valueFrom"))


def _default_source(source: Wire) -> None:
    """Default where the value of a variable comes from."""
    field = given(source, "fieldRef")
    if field is not None:
        fill(field, apiVersion="v1")
    resource = given(source, "resourceFieldRef")
    if resource is not None:
        fill(resource, divisor="0")


def _pull_policy(image: str) -> str:
    """Always for what moves: the tag `latest`, which is also what no tag means."""
    named, _, digest = image.partition("@")
    _, colon, tag = named.rpartition("/")[2].partition(":")
    if colon:
        return "Always" if tag == "latest" else "IfNotPresent"
    return "IfNotPresent" if digest or not image else "Always"


def _default_probe(probe: Wire) -> None:
    fill_zero(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    _default_handler(probe)
    grpc = given(probe, "grpc")
    if grpc is not None and grpc.get("service") is None:
        grpc["service"] = ""


def _default_handler(handler: Wire) -> None:
    if isinstance(handler.get("httpGet"), dict):
        fill(handler["httpGet"], path="/", scheme="HTTP")
