"""Resources that are read by whoever may read another: who may ask, and what each is shown.

An explanation tells of a binding, so it is read by whoever may read that binding, and what it tells
of others is only for those who may read these. Whatever authorizer there is, it is the one asked.
"""

from dataclasses import replace
from functools import partial

from atoll.apiserver.authentication import Identity
from atoll.apiserver.authorization import Attributes, Authorize, may
from atoll.apiserver.resource import Object, Reading, Resource

_READS = frozenset(["get", "list", "watch"])


def authorize_as(
    reading: Reading | None, authorize: Authorize, identity: Identity, wanted: Attributes
) -> None:
    """ApiError 403 unless this identity may do this; `reading` says as what it is read."""
    if reading is None:
        authorize(identity, wanted)
    elif wanted.verb in _READS:
        authorize(identity, wanted._replace(group=reading.group, plural=reading.plural))
    else:
        authorize(identity, wanted)
        authorize(identity, Attributes("list", reading.group, reading.plural))


def seen_by(
    resource: Resource, reading: Reading, authorize: Authorize, identity: Identity, verb: str
) -> Resource:
    """The resource as this identity is shown it."""
    if verb not in _READS:
        return resource

    def from_stored(stored: Object) -> Object:
        return reading.shown(resource.from_stored(stored), partial(may, authorize, identity))

    return replace(resource, from_stored=from_stored, shared=False)
