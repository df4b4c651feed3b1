"""What is answered and never stored: a POST that asks, and the ways through an object.

Before a command in a pod or a proxy, admission is asked. What a client wants there is in its query,
shown as the options object that Kubernetes has for each of these ways; reading a log is none.
"""

from atoll.apiserver.admission import Admission
from atoll.apiserver.applying.updates import Writer, after_update
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.options import Query, first, flag, write_options
from atoll.apiserver.resource import Asked, Branch, Errand, Resource
from atoll.apiserver.verbs.beginning import check_namespace, manager
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.intake import read_object
from atoll.wire import Wire


def answer(api: Api, call: Call) -> Wire:
    """The object in the request's body, with the answer in its status."""
    options = write_options(call.query, "CreateOptions")
    asked = read_object(call, options.field_validation)
    check_namespace(call.resource, call.namespace, asked)
    resource = call.resource
    meta = {key: value for key, value in metadata(asked).items() if key != "namespace"}
    if resource.namespaced:
        meta["namespace"] = call.namespace
    whole = {"kind": resource.kind, "apiVersion": resource.api_version, **asked, "metadata": meta}
    writer = Writer(manager(call.request, options), resource.api_version)
    now = api.timestamp()
    owned = after_update(resource.schema, None, whole, writer, now)
    assert resource.answer is not None, "only kinds that are answered come here"
    return resource.answer(Asked(call.identity, call.namespace, owned, now))


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


def _options(branch: Branch, errand: Errand, query: Query) -> Wire:
    found: Wire = {"kind": branch.kind, "apiVersion": "v1"}
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
