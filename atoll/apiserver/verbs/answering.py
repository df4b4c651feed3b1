"""POST of what asks something: it is answered at once, and never stored."""

from atoll.apiserver.applying.updates import Writer, after_update
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.options import write_options
from atoll.apiserver.resource import Asked
from atoll.apiserver.verbs.beginning import check_namespace, manager
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.intake import read_object
from atoll.wire import Object


def answer(api: Api, call: Call) -> Object:
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
