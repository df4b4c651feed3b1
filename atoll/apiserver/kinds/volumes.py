"""The defaults of volumes, in pods and as persistent volumes, and of claims; in place."""

from typing import Any

from atoll.apiserver.kinds.reading import Object, fill, given, part, parts

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


def default_volume(volume: Object) -> None:
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


def default_source(volume: Object) -> None:
    """Default what pods' volumes and persistent volumes have in common."""
    for kind, source in volume.items():
        if kind in _DEFAULTS and isinstance(source, dict):
            fill(source, **_DEFAULTS[kind])
    host = volume.get("hostPath")
    if isinstance(host, dict) and host.get("type") is None:
        host["type"] = ""


def _default_downward(source: Object) -> None:
    for item in parts(source, "items"):
        if isinstance(item.get("fieldRef"), dict):
            fill(item["fieldRef"], apiVersion="v1")


def default_claim_spec(spec: Object) -> None:
    fill(spec, volumeMode="Filesystem")
