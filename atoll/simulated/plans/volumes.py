"""PersistentVolumeClaims: each is bound at once, to a volume made for it.

A claim comes in; steps go out. The volume goes when its claim does. Nothing is stored anywhere.
"""

from atoll.simulated.plans.steps import Make, Step, status_change
from atoll.wire import Wire

COLLECTION, VOLUMES, CLASSES = (
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses.storage.k8s.io",
)
STANDARD = "standard"


def plan(claim: Wire) -> list[Step]:
    """What to write about a claim: a volume of exactly what it asks for, and that it has it."""
    spec = claim["spec"]
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage", "0")
    fresh = {
        **(claim.get("status") or {}),
        "phase": "Bound",
        "accessModes": spec.get("accessModes") or [],
        "capacity": {"storage": asked},
    }
    name = volume_name(claim["metadata"]["uid"])
    bound = {"volumeName": name, "storageClassName": spec.get("storageClassName", STANDARD)}
    if spec.get("volumeName"):  # a volume of the user's own
        return status_change(COLLECTION, claim, fresh)
    made = Make(VOLUMES, _volume(claim, name, asked))
    return [made, *status_change(COLLECTION, claim, fresh, spec=bound)]


def volume_name(uid: str) -> str:
    return f"pvc-{uid}"


def _volume(claim: Wire, name: str, size: str) -> Wire:
    meta, spec = claim["metadata"], claim["spec"]
    return {
        "metadata": {"name": name},
        "spec": {
            "accessModes": spec.get("accessModes") or [],
            "capacity": {"storage": size},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "name": meta["name"],
                "namespace": meta["namespace"],
                "uid": meta["uid"],
            },
            "hostPath": {"path": f"/var/lib/simulated/{name}", "type": ""},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": spec.get("storageClassName", STANDARD),
            "volumeMode": spec.get("volumeMode", "Filesystem"),
        },
        "status": {"phase": "Bound"},
    }


def standard_class() -> Wire:
    """The class of volumes for claims that name none."""
    return {
        "metadata": {
            "name": STANDARD,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "simulated.atoll.io/volumes",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    }
