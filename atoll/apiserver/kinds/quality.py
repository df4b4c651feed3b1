"""How well a pod is treated when its node runs short: by what it has asked for."""

from atoll.apiserver.kinds.reading import Object, part, parts
from atoll.model.quantity import parse


def quality(spec: Object) -> str:
    """The quality of service class: by what the containers request and limit of cpu and memory."""
    containers = parts(spec, "containers") + parts(spec, "initContainers")
    every = [part(container, "resources") for container in containers]
    asked = [
        amount
        for resources in every
        for kind in ("requests", "limits")
        for name in ("cpu", "memory")
        if (amount := parse(part(resources, kind).get(name))) is not None and amount > 0
    ]
    if not asked:
        return "BestEffort"
    guaranteed = all(
        part(resources, "limits").get(name) is not None
        and parse(part(resources, "limits").get(name))
        == parse(part(resources, "requests").get(name))
        for resources in every
        for name in ("cpu", "memory")
    )
    return "Guaranteed" if guaranteed else "Burstable"
