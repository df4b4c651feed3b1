"""Going through an object to something else: a command in a pod, a proxy. Admission is asked first.

What a client wants there is in its query; it is shown as the options object that Kubernetes has for
each of these ways. Reading a log is no such way.
"""

from atoll.apiserver.admission import Admission
from atoll.apiserver.options import Query, first, flag
from atoll.apiserver.resource import Branch, Errand, Resource
from atoll.apiserver.verbs.call import Api
from atoll.wire import Object

_FLAGS = ("stdin", "stdout", "stderr", "tty")


async def admit_way(
    api: Api, resource: Resource, branch: Branch, errand: Errand, query: Query
) -> None:
    """ApiError if somebody outside does not want this way to be taken."""
    if not branch.kind.endswith("Options") or not api.hooks.outside.concerns(resource):
        return
    admission = Admission(
        operation="CONNECT",
        resource=resource,
        namespace=errand.namespace,
        name=errand.name,
        identity=errand.identity,
        object=_options(branch, errand, query),
        subresource=branch.name,
    )
    await api.hooks.outside.check(admission)


def _options(branch: Branch, errand: Errand, query: Query) -> Object:
    found: Object = {"kind": branch.kind, "apiVersion": "v1"}
    if branch.name == "proxy":
        path = first(query, "path") or errand.beyond
        return found | ({"path": path} if path else {})
    found |= {name: True for name in _FLAGS if flag(query, name)}
    if container := first(query, "container"):
        found["container"] = container
    if command := query.get("command"):
        found["command"] = list(command)
    if ports := [int(each) for each in query.get("ports", ()) if each.isdecimal()]:
        found["ports"] = ports
    return found
