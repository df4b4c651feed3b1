"""What every cluster has from the start: the namespaces that clients take for granted."""

from atoll.apiserver.housekeeping.acting import MANAGER, call_on
from atoll.apiserver.options import WriteOptions
from atoll.apiserver.verbs.call import Api
from atoll.apiserver.verbs.creating import create_object
from atoll.apiserver.verbs.forming import Form

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


async def bootstrap(api: Api) -> None:
    """Create what is missing of what must be there."""
    resource = api.catalog.of_collection("namespaces")
    assert resource is not None, "namespaces are always served"
    for name in NAMESPACES:
        if api.store.get("namespaces", name) is None:
            form = Form(api, call_on(resource, "", name), WriteOptions(field_manager=MANAGER))
            proposed = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            await create_object(form, proposed)
