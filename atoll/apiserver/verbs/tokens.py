"""POST to the token subresource of a service account: a token for it, good for a while."""

from dataclasses import replace
from datetime import timedelta

from atoll.apiserver.access.accounts import BOUND, ISSUER, Account, Grant, asked_token
from atoll.apiserver.fields import error as fields
from atoll.apiserver.kinds.core import TOKEN_REQUEST
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.objects.times import rfc3339
from atoll.apiserver.objects.view import metadata_of
from atoll.apiserver.options import write_options
from atoll.apiserver.status import bad_request, conflict, invalid, not_found
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.intake import never_stored, read_object
from atoll.apiserver.verbs.reading import get
from atoll.wire import Wire

USUAL_S, SHORTEST_S, LONGEST_S = 3600, 600, 1 << 32


def request_token(api: Api, call: Call) -> Wire:
    """A token for the account that is called upon, as the TokenRequest in the body wants it."""
    options = write_options(call.query, "CreateOptions")
    requests = never_stored(*TOKEN_REQUEST)
    asked = read_object(replace(call, resource=requests), options.field_validation)
    meta = metadata_of(get(api, call))
    spec = {"expirationSeconds": USUAL_S, **(asked.get("spec") or {})}
    spec["audiences"] = spec.get("audiences") or [ISSUER]
    _check(call, asked, spec["expirationSeconds"])
    account = Account(call.namespace, call.name, meta.uid)
    start = api.now()
    end = start + timedelta(seconds=spec["expirationSeconds"])
    grant = Grant(
        audiences=tuple(spec["audiences"]),
        start=int(start.timestamp()),
        end=int(end.timestamp()),
        number=api.effects.chance.uuid("tokens"),
        bound=_bound(api, call, spec.get("boundObjectRef")),
    )
    head = {"name": call.name, "namespace": call.namespace, "uid": meta.uid}
    token = asked_token(api.signing, account, grant)
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {**head, "creationTimestamp": api.timestamp()},
        "spec": {"boundObjectRef": None, **spec},
        "status": {"token": token, "expirationTimestamp": rfc3339(end)},
    }


def _check(call: Call, asked: Wire, seconds: int) -> None:
    name = metadata(asked).get("name", "")
    if name not in ("", call.name):
        why = "must match the service account name if specified"
        error = fields.invalid("metadata.name", name, why)
        raise invalid("TokenRequest", "authentication.k8s.io", call.name, [error])
    if seconds < SHORTEST_S:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > LONGEST_S:
        why = "may not specify a duration larger than 2^32 seconds"
    else:
        return
    error = fields.invalid("spec.expirationSeconds", seconds, why)
    raise invalid("TokenRequest", "authentication.k8s.io", "", [error])


def _bound(api: Api, call: Call, reference: Wire | None) -> tuple[str, str, str] | None:
    """What the token is to be bound to; ApiError if that is not there."""
    if not reference:
        return None
    kind, name, uid = (reference.get(key, "") for key in ("kind", "name", "uid"))
    plural = BOUND.get(kind)
    if plural is None or reference.get("apiVersion", "v1") != "v1":
        group, _, version = reference.get("apiVersion", "").rpartition("/")
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    key = name if plural == "nodes" else f"{call.namespace}/{name}"
    record = api.store.get(plural, key)
    if record is None:
        raise not_found(plural, "", name)
    there = metadata_of(record).uid
    if uid and uid != there:
        why = (
            f"the UID in the bound object reference ({uid}) does not match the UID in record."
            " The object might have been deleted and then recreated"
        )
        raise conflict(plural, "", name, why)
    return kind, name, there
