"""POST of what asks something: it is answered at once, and never stored."""

from typing import Any

from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.options import write_options
from atoll.apiserver.resource import Asked
from atoll.apiserver.verbs.call import Call
from atoll.apiserver.verbs.creating import check_namespace
from atoll.apiserver.verbs.intake import read_object

Object = dict[str, Any]


def answer(call: Call) -> Object:
    """The object in the request's body, with the answer in its status."""
    options = write_options(call.query, "CreateOptions")
    asked = read_object(call, options.field_validation)
    check_namespace(call, asked)
    meta = {**metadata(asked), **({"namespace": call.namespace} if call.namespace else {})}
    assert call.resource.answer is not None, "only kinds that are answered come here"
    return call.resource.answer(Asked(call.identity, call.namespace, {**asked, "metadata": meta}))
