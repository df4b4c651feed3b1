"""How a Cluster says it is reached: pushed to or pulled from, with which Secret."""

from atoll.model.action import Ref
from atoll.wire import Object

PULL = "Pull"
_WAY = ("apiEndpoint", "secretRef", "insecureSkipTLSVerification", "proxyURL", "proxyHeader")


def is_pulled(cluster: Object) -> bool:
    """Whether an agent in the cluster does the work, and the plane never speaks to it."""
    return bool((cluster.get("spec") or {}).get("syncMode") == PULL)


def secret_of(cluster: Object) -> Ref | None:
    """The Secret with the credentials for a cluster, if it names one."""
    return secret_named((cluster.get("spec") or {}).get("secretRef") or {})


def secret_named(named: Object) -> Ref | None:
    """The Secret that is named so, if it is."""
    if not named.get("name") or not named.get("namespace"):
        return None
    return Ref("v1", "Secret", named["namespace"], named["name"])


def way(cluster: Object, secret: Object | None) -> Object:
    """All that the way to a cluster depends on: where this is equal, the way is the same."""
    spec = cluster.get("spec") or {}
    told = {key: spec[key] for key in _WAY if spec.get(key)}
    return {**told, "uid": cluster["metadata"].get("uid"), "data": (secret or {}).get("data")}
