"""What can come next on a command line: names of clusters, kinds and objects, asked of the plane.

A half-typed word comes in, words go out. Whoever presses TAB wants no error and no wait: what
cannot be found out at once is not offered.
"""

import click

from atoll.cli.discovering import Kinds
from atoll.cli.failing import CommandFailed
from atoll.cli.reaching import find_plane
from atoll.client.collection import Collection
from atoll.client.plain import PlainClient
from atoll.client.refusals import Refused
from atoll.client.transport import Unreachable
from atoll.errors import AtollError

_PATIENCE_S = 1.5
_CLUSTERS = Collection("cluster.karmada.io/v1alpha1", "Cluster", "clusters", namespaced=False)
_FAILURES = (AtollError, CommandFailed, Refused, Unreachable, OSError, ValueError, KeyError)


def cluster_names(context: click.Context) -> list[str]:
    """The names of all clusters."""
    return _names(context, _CLUSTERS, "")


def complete_types(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Kinds that go on as typed; after a slash, names of its objects; after a kind, names."""
    kind, slash, _name = incomplete.partition("/")
    given = context.params.get("words") or ()
    try:
        client = _client(context)
        kinds = Kinds.of(client)
        if slash:
            found = _names(context, kinds.find(kind).collection, _namespace(context))
            return [each for name in found if (each := f"{kind}/{name}").startswith(incomplete)]
        if given and "/" not in given[0]:
            found = _names(context, kinds.find(given[0]).collection, _namespace(context))
            return [name for name in found if name.startswith(incomplete)]
        plurals = {each.collection.plural for each in kinds.all() if "list" in each.verbs}
    except _FAILURES:
        return []
    return sorted(each for each in plurals if each.startswith(incomplete))


def _names(context: click.Context, collection: Collection, namespace: str) -> list[str]:
    try:
        found = _client(context).list(collection, namespace)
    except _FAILURES:
        return []
    return sorted(each["metadata"]["name"] for each in found)


def _namespace(context: click.Context) -> str:
    return str(context.params.get("namespace") or "default")


def _client(context: click.Context) -> PlainClient:
    params = context.params
    named = (params.get(key) for key in ("kubeconfig", "karmada_context", "data_dir"))
    return PlainClient(find_plane(*named).client.endpoint, _PATIENCE_S)
