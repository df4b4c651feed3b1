"""A new node takes no pods until it is known to be ready: it is born with a taint that says so."""

from atoll.apiserver.kinds.reading import Object, part, parts

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def not_ready(node: Object) -> Object:
    """The node with this taint, unless it has it already."""
    spec = part(node, "spec")
    there = parts(spec, "taints")
    if any(all(one.get(key) == NOT_READY[key] for key in NOT_READY) for one in there):
        return node
    return {**node, "spec": {**spec, "taints": [*there, dict(NOT_READY)]}}
