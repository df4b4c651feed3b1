"""How pods of ours are confined: no root, nothing to write to but a scratch space in memory.

Used by whoever describes a Deployment that runs this program, in the plane's own cluster or in a
member. The image's user is known here because Kubernetes wants a number to believe that it is not
root.
"""

from atoll.wire import Wire

USER = 65532  # as in deploy/Containerfile

# TLS keys pass through a file for a moment, since Python's ssl reads them from nowhere else.
SCRATCH = {"name": "scratch", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}
SCRATCH_MOUNT = {"name": "scratch", "mountPath": "/tmp"}


def pod_confinement() -> Wire:
    """The security context of a pod."""
    return {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_confinement() -> Wire:
    """The security context of its container."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
