"""A call's body, read as the verb needs it; what strict reading complains of becomes warnings."""

from functools import cache

from atoll.apiserver.bodies.decoding import decode_body, decode_options
from atoll.apiserver.bodies.patches import Patch, conform_patched, decode_patch
from atoll.apiserver.options import Validation
from atoll.apiserver.resource import Resource, Strategy
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.verbs.call import Call
from atoll.wire import Wire


@cache
def never_stored(group: str, version: str, kind: str) -> Resource:
    """A kind that only bodies are of, as a resource to read them by."""
    package = f"io.k8s.api.{group.partition('.')[0]}.{version}"
    return Resource(
        group=group,
        version=version,
        kind=kind,
        plural=f"{kind.lower()}s",
        singular=kind.lower(),
        namespaced=True,
        schema=load().schema(f"{package}.{kind}"),
        strategy=Strategy(),
        stored_version=version,
        list_kind=f"{kind}List",
    )


def read_object(call: Call, validation: Validation) -> Wire:
    """The object in the request's body, fit for its resource."""
    request = call.request
    content_type = request.headers.get("content-type", "")
    body = decode_body(request.body, content_type, call.resource, validation=validation)
    call.warnings.extend(body.warnings)
    return body.object


def read_options(call: Call) -> Wire | None:
    """The DeleteOptions in the request's body; None where there is no body."""
    if not call.request.body:
        return None
    content_type = call.request.headers.get("content-type", "")
    return decode_options(call.request.body, content_type)


def read_patch(call: Call, patch_type: str, validation: Validation) -> Patch:
    return decode_patch(call.request.body, patch_type, validation=validation)


def fitted(call: Call, obj: Wire, patch: Patch, validation: Validation) -> Wire:
    """The result of a patch, fit for its resource."""
    fitting, warnings = conform_patched(call.resource, obj, patch, validation=validation)
    call.warnings.extend(text for text in warnings if text not in call.warnings)
    return fitting
