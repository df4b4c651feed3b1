"""What administrators ask of a running plane beside its API: what would change, fit, or pay.

A question's words come in, an answer that can be written as JSON goes out; Invalid says what is
wrong with the question.
"""

from collections.abc import Mapping

from atoll.control.hub import BINDING, Hub
from atoll.control.scheduler.decide import wondering
from atoll.errors import Invalid
from atoll.model.action import Ref

Words = Mapping[str, str]
Answer = Mapping[str, object]


async def answer(hub: Hub, question: str, words: Words) -> Answer | None:
    """The answer to a question; None if it is not one of ours."""
    match question:
        case "changes":
            return _changes(hub, words)
        case "fits":
            return _fits(hub, words)
        case "moves":
            return await hub.around.moves(words)
    return None


def _changes(hub: Hub, words: Words) -> Answer:
    """The nearest changes that would place a binding otherwise, in sentences."""
    namespace, name = words.get("namespace", ""), words.get("name", "")
    kind = "ResourceBinding" if namespace else "ClusterResourceBinding"
    binding = hub.binding(Ref(BINDING, kind, namespace, name))
    if binding is None:
        raise Invalid("name", name, "is no binding")
    around = hub.around.anew(binding)
    return {"changes": wondering.changes(binding, hub.fleet, hub.setting, around)}


def _fits(hub: Hub, words: Words) -> Answer:
    """By cluster, how many replicas of a size there is room for, and by whose word."""
    models = hub.features.CustomizedClusterResourceModeling
    nodes = hub.nodes.view(hub.fleet, hub.now)
    found = wondering.fits(words, hub.fleet, nodes, models=models)
    return {
        "fits": {name: each.replicas for name, each in found.items()},
        "by": {name: each.by for name, each in found.items()},
    }
