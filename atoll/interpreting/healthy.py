"""Whether an object in a member does what it is for, told from its spec and its status.

An object as observed comes in, yes or no goes out.
"""

from atoll.dialects.wire import count, number, parts, text
from atoll.interpreting.fields import holds, inner
from atoll.interpreting.reflecting import generation
from atoll.wire import Object


def rolled_out(observed: Object) -> bool:
    """All replicas wanted are of the newest revision, and available."""
    status = inner(observed, "status")
    updated = count(status, "updatedReplicas", "status")
    enough = updated >= _wanted(observed)
    return _is_seen(observed) and enough and count(status, "availableReplicas", "status") >= updated


def available(observed: Object) -> bool:
    """As many replicas are available as are wanted."""
    ready = count(inner(observed, "status"), "availableReplicas", "status")
    return _is_seen(observed) and ready >= _wanted(observed)


def on_all_nodes(observed: Object) -> bool:
    """Every node that should run a pod runs one of the newest revision, available."""
    status = inner(observed, "status")
    updated = count(status, "updatedNumberScheduled", "status")
    enough = updated >= count(status, "desiredNumberScheduled", "status")
    return _is_seen(observed) and enough and count(status, "numberAvailable", "status") >= updated


def _is_seen(observed: Object) -> bool:
    """The status is about the spec as it is now."""
    current = generation(inner(observed, "metadata"), "generation", "metadata")
    return generation(inner(observed, "status"), "observedGeneration", "status") == current


def _wanted(observed: Object) -> int:
    return number(inner(observed, "spec"), "replicas", "spec") or 0


def reachable(observed: Object) -> bool:
    """An address was given to it."""
    balancer, path = inner(observed, "status", "loadBalancer"), "status.loadBalancer"
    points = parts(balancer, "ingress", path)
    return any(text(each, "hostname", at) or text(each, "ip", at) for at, each in points)


def served(observed: Object) -> bool:
    """A load balancer has an address; every other service needs none."""
    is_balanced = text(inner(observed, "spec"), "type", "spec") == "LoadBalancer"
    return not is_balanced or reachable(observed)


def bound(observed: Object) -> bool:
    """The claim has its volume."""
    return text(inner(observed, "status"), "phase", "status") == "Bound"


def ready_or_done(observed: Object) -> bool:
    """The pod runs and is ready, or has done its work."""
    status = inner(observed, "status")
    phase = text(status, "phase", "status")
    ready = holds(status, "status", "Ready")
    return phase == "Succeeded" or (phase == "Running" and ready)


def enough_pods(observed: Object) -> bool:
    """The budget protects no fewer healthy pods than it wants."""
    status = inner(observed, "status")
    healthy = count(status, "currentHealthy", "status")
    return healthy >= count(status, "desiredHealthy", "status")
