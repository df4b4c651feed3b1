"""New objects of built-in kinds, made ready to be stored before the core is asked.

In: a request. Out: what would be stored, in bytes with a gap for its revision; or nothing, if the
request is anything but an ordinary and faultless creation. Whoever is to be told of a fault is told
by the core, which then does all of it itself. Pure but for the clock and chance.
"""

import orjson

from atoll.apiserver.applying.updates import Writer
from atoll.apiserver.bodies.decoding import YAML, decode_body, media_type
from atoll.apiserver.kinds.builtin import builtin_resources
from atoll.apiserver.objects.metadata import metadata, repeated_owners
from atoll.apiserver.objects.times import rfc3339
from atoll.apiserver.options import parse_query, write_options
from atoll.apiserver.resource import Resource
from atoll.apiserver.routing import ResourceRoute, route
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.verbs.beginning import (
    Birth,
    check_namespace,
    finished,
    manager,
    may_be_drafted,
)
from atoll.effects import Effects
from atoll.exchange import Draft, Request
from atoll.wire import Wire

# Nobody knows yet who asks, and whether they may: one who may not shall not cost others much.
DRAFTED_BYTES_MAX = 64 * 1024
VAIN_MAX = 3  # drafts of a kind that the core did not take, one after another
TRIED_AGAIN = 64  # after so many more of it: what was in the way may be gone


class Drafter:
    """Drafts what it can, and lets be what the core makes anew in any case."""

    def __init__(self, effects: Effects) -> None:
        self._effects = effects
        self._known = {
            (each.group, each.version, each.plural): each
            for each in builtin_resources(load())
            if may_be_drafted(each) and "create" in each.verbs
        }
        self._vain: dict[Resource, int] = {}

    def draft(self, request: Request) -> Draft | None:
        """The object that this request creates, if that can be known without asking."""
        if request.method != "POST" or not 0 < len(request.body) <= DRAFTED_BYTES_MAX:
            return None
        found = self._found(request)
        if found is None or not self._is_worth_it(found[0]):
            return None
        try:
            return self._drafted(request, *found)
        except Exception:  # noqa: BLE001 (only a hint: who is to be told, is told by the core)
            return None

    def learn(self, request: Request, *, taken: bool) -> None:
        """The core took the draft of this request, or did not."""
        if taken and not self._vain:
            return
        found = self._found(request)
        assert found is not None, "it was drafted"
        if taken:
            self._vain.pop(found[0], None)
        else:
            self._vain[found[0]] = self._vain.get(found[0], 0) + 1

    def _is_worth_it(self, resource: Resource) -> bool:
        vain = self._vain.get(resource, 0)
        if vain < VAIN_MAX:
            return True
        self._vain[resource] = vain + 1
        return vain % TRIED_AGAIN == 0

    def _found(self, request: Request) -> tuple[Resource, str] | None:
        """The kind and namespace in which this creates an object."""
        target = route(request.path)
        if not isinstance(target, ResourceRoute) or target.name or target.watched:
            return None
        resource = self._known.get((target.group, target.version, target.plural))
        if resource is None or resource.namespaced is not bool(target.namespace):
            return None
        return resource, target.namespace

    def _drafted(self, request: Request, resource: Resource, namespace: str) -> Draft | None:
        options = write_options(parse_query(request.query), "CreateOptions")
        form = request.headers.get("content-type", "")
        if media_type(form) == YAML:  # takes many times as long to read
            return None
        body = decode_body(request.body, form, resource, validation=options.field_validation)
        if options.dry_run or body.warnings or not _is_ordinary(body.object):
            return None
        check_namespace(resource, namespace, body.object)
        uid, now = self._effects.chance.uuid("uid"), rfc3339(self._effects.now())
        writer = Writer(manager(request, options), resource.api_version, "")
        obj = Birth(resource, namespace, uid, now).begun(body.object, writer)
        finished(resource, obj)
        head, tail = _with_gap(obj)
        warnings = tuple(resource.strategy.warnings(obj))
        return Draft(obj["metadata"]["name"], head, tail, warnings)


def _is_ordinary(proposed: Wire) -> bool:
    """Whether it has a name, and asks for nothing that is warned of or refused."""
    meta = metadata(proposed)
    return bool(meta.get("name")) and not (meta.get("resourceVersion") or repeated_owners(proposed))


def _with_gap(obj: Wire) -> tuple[bytes, bytes]:
    """The object in two halves, between which its revision belongs: at the end of its metadata."""
    keys = list(obj)
    until = keys.index("metadata") + 1
    first = orjson.dumps({key: obj[key] for key in keys[:until]})
    rest = orjson.dumps({key: obj[key] for key in keys[until:]})
    return first[:-2], b"}," + rest[1:] if until < len(keys) else b"}}"
