"""GET, of one object or of a list: snapshots, pages and the rules of resourceVersion."""

import asyncio
import base64
import binascii
from dataclasses import dataclass

import orjson

from atoll.apiserver.options import ListOptions, list_options, named_revision, parse_revision
from atoll.apiserver.status import ApiError, bad_request, expired, not_found, revision_too_large
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.converting import have_converted
from atoll.apiserver.verbs.matching import Matcher, matcher, served
from atoll.errors import Gone
from atoll.store.record import Record
from atoll.wire import Wire

PATIENCE_S = 3.0  # how long a read waits for a revision that is not there yet
_CHUNK = 1000
_TOKEN_VERSION = "meta.k8s.io/v1"

_TOO_OLD = "The resourceVersion for the provided list is too old."
_CONTINUE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start"
    " a new list without the continue parameter, or use the continue token in this response to"
    " retrieve the remainder of the results. Continuing with the provided token results in an"
    " inconsistent list - objects that were created, modified, or deleted between the time the"
    " first chunk was returned and now may show up in the list."
)


async def get_as_asked(api: Api, call: Call) -> Record:
    """The record of one object, as new as the client wants it at the least."""
    if call.query:  # as seldom
        await reach(api, named_revision(call.query))
    record = get(api, call)
    await have_converted(api, call.resource, [record])
    return record


def get(api: Api, call: Call) -> Record:
    """The record of one object; ApiError 404 if there is none."""
    record = api.store.get(call.resource.collection, call.key())
    if record is None:
        raise not_found(call.resource.plural, call.resource.group, call.name)
    return record


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a list: what matched, of which revision, and how to go on."""

    records: list[Record]
    revision: int
    token: str = ""
    remaining: int | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """What a continue token says: the revision of the first page, and where to go on.

    Revision 0 means what is there now: the consistent snapshot is gone, and the client was told.
    """

    revision: int
    after: str


def encode_token(token: Token) -> str:
    body = {"v": _TOKEN_VERSION, "rv": token.revision, "start": token.after}
    return base64.urlsafe_b64encode(orjson.dumps(body)).rstrip(b"=").decode()


def decode_token(text: str) -> Token:
    try:
        body = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError) as error:
        raise _bad_token("it was not issued by this server") from error
    if not isinstance(body, dict):
        raise _bad_token("it was not issued by this server")
    version, revision, after = body.get("v", ""), body.get("rv", 0), body.get("start", "")
    if version != _TOKEN_VERSION:
        raise _bad_token(f"server does not recognize this encoded version {version}")
    if not after:
        raise _bad_token(f"encoded start key empty (version {version})")
    if not isinstance(revision, int) or not isinstance(after, str) or revision < 0:
        raise _bad_token("it was not issued by this server")
    return Token(revision, after)


def _bad_token(why: str) -> ApiError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


async def list_records(api: Api, call: Call) -> Listing:
    """The page that a list request asks for."""
    listing = await _listed(api, call)
    await have_converted(api, call.resource, listing.records)
    return listing


async def _listed(api: Api, call: Call) -> Listing:
    options = list_options(call.query)
    selection = matcher(call, options.labels, options.fields)
    if options.token:
        return _continued(api, selection, options)
    revision = parse_revision(options.revision)
    if revision:
        await reach(api, revision)
    # A list "at least as new as" a revision with a limit has always meant "exactly at" it.
    exact = options.match == "Exact" or (revision > 0 and options.limit > 0 and not options.match)
    limit = 0 if options.revision == "0" else options.limit
    await have_selectable(api, selection)
    try:
        return _page(api, selection, Token(revision if exact else 0, ""), limit)
    except Gone as error:
        raise expired(_TOO_OLD) from error


async def have_selectable(api: Api, selection: Matcher) -> None:
    """Have all converted that may be selected by what only another version shows."""
    if selection.fields and selection.resource.conversion is not None:
        records = api.store.page(selection.resource.collection, selection.prefix).records
        await have_converted(api, selection.resource, records)


def _continued(api: Api, selection: Matcher, options: ListOptions) -> Listing:
    if options.revision not in ("", "0"):
        why = "specifying resource version is not allowed when using continue"
        raise bad_request(why)
    token = decode_token(options.token)
    if not token.after.startswith(selection.prefix):
        raise _bad_token(token.after)
    try:
        return _page(api, selection, token, options.limit)
    except Gone as error:
        onwards = encode_token(Token(0, token.after))
        raise expired(_CONTINUE_TOO_OLD, metadata={"continue": onwards}) from error


async def reach(api: Api, revision: int) -> None:
    """Wait until the store has come to this revision; ApiError 504 if it does not soon."""
    if api.store.revision >= revision:
        return
    try:
        async with asyncio.timeout(PATIENCE_S):
            await api.store.reached(revision)
    except TimeoutError as error:
        raise revision_too_large(revision, api.store.revision) from error


def _page(api: Api, selection: Matcher, start: Token, limit: int) -> Listing:
    collection = selection.resource.collection
    after, revision = start.after, start.revision or None
    found: list[Record] = []
    while True:
        size = limit if limit and not selection.selective else _CHUNK if limit else 0
        page = api.store.page(
            collection, selection.prefix, revision=revision, after=after, limit=size
        )
        revision = page.revision
        if not selection.selective:
            return _listing(page.records, revision, page.remaining if page.more else None)
        found += [record for record in page.records if selection.matches(record)]
        if limit and len(found) > limit:
            return _listing(found[:limit], revision, None, more=True)
        if not page.more:
            return _listing(found, revision, None)
        after = page.records[-1].name


def _listing(
    records: list[Record], revision: int, remaining: int | None, *, more: bool = False
) -> Listing:
    if remaining is None and not more:
        return Listing(records, revision)
    return Listing(records, revision, encode_token(Token(revision, records[-1].name)), remaining)


async def list_objects(api: Api, call: Call) -> list[Wire]:
    """Every object a call selects, decoded, as of now."""
    options = list_options(call.query)
    selection = matcher(call, options.labels, options.fields)
    await have_selectable(api, selection)
    listing = _page(api, selection, Token(0, ""), 0)
    await have_converted(api, call.resource, listing.records)
    return [orjson.loads(served(call.resource, record)) for record in listing.records]


def list_head(listing: Listing) -> Wire:
    """The metadata of a list."""
    head: Wire = {"resourceVersion": str(listing.revision)}
    if listing.token:
        head["continue"] = listing.token
    if listing.remaining is not None:
        head["remainingItemCount"] = listing.remaining
    return head
