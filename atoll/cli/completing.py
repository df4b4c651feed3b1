"""What can come next on a command line: names of clusters, kinds and objects, asked of the plane.

A half-typed word comes in, words go out. Whoever presses TAB wants no error and no wait: what
cannot be found out at once is not offered.
"""

from collections.abc import Callable
from contextlib import closing, suppress

import click

from atoll.cli.discovering import Kinds
from atoll.cli.known import CLUSTERS
from atoll.cli.reaching import find_plane
from atoll.client.collection import Collection
from atoll.client.plain import PlainClient
from atoll.errors import AtollError

_PATIENCE_S = 4.0


def cluster_names(context: click.Context) -> list[str]:
    """The names of all clusters."""
    return _asked(context, lambda client: _names(client, CLUSTERS, ""))


def complete_clusters(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Clusters whose names go on as typed."""
    return [name for name in cluster_names(context) if name.startswith(incomplete)]


def complete_types(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Kinds that go on as typed; after a slash, names of its objects; after a kind, names."""
    found = _asked(context, lambda client: _offered(client, context, incomplete))
    return [each for each in found if each.startswith(incomplete)]


def _offered(client: PlainClient, context: click.Context, incomplete: str) -> list[str]:
    kinds, given = Kinds.of(client), context.params.get("words") or ()
    namespace = str(context.params.get("namespace") or "default")
    kind, slash, _ = incomplete.partition("/")
    if slash:
        return [f"{kind}/{name}" for name in _names(client, kinds.find(kind).collection, namespace)]
    if given and "/" not in given[0]:
        return _names(client, kinds.find(given[0]).collection, namespace)
    return sorted({each.collection.plural for each in kinds.all() if "list" in each.verbs})


def _names(client: PlainClient, collection: Collection, namespace: str) -> list[str]:
    return sorted(each["metadata"]["name"] for each in client.list(collection, namespace))


def _asked(context: click.Context, ask: Callable[[PlainClient], list[str]]) -> list[str]:
    """The answer of the plane that is meant so far; nothing if there is none."""
    named = (context.params.get(key) for key in ("kubeconfig", "karmada_context", "data_dir"))
    with (
        suppress(AtollError, OSError, ValueError, KeyError),
        closing(PlainClient(find_plane(*named).client.endpoint, _PATIENCE_S)) as client,
    ):
        return ask(client)
    return []
