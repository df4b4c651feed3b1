"""What a request asks for besides its object: the query parameters and DeleteOptions, checked.

Wrong values are answered as kube-apiserver answers them: 400 for what cannot be parsed, 422 with
the name of the options kind for what can be parsed but not granted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import parse_qsl

import re2

from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.selecting import parse_field_selector, parse_label_selector
from atoll.apiserver.status import ApiError, bad_request, invalid, plain_500
from atoll.model.selector import Selector

Validation = Literal["Ignore", "Warn", "Strict"]
_VALIDATIONS: tuple[Validation, ...] = ("Ignore", "Warn", "Strict")
_VALIDATION: Mapping[str, Validation] = {choice: choice for choice in _VALIDATIONS}
_POLICIES = ("Foreground", "Background", "Orphan")
_DURATION = re2.compile(
    r"[-+]?(0|(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)((\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h))*)"
)
_SPANS = re2.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
LONGEST_S = 60.0  # for any request that is not a watch
_MANAGER_MAX = 128


def parse_query(query: str) -> "Query":
    """The query parameters by name, in order; not to be changed, for many may be given the same."""
    if not query:
        return _NOTHING
    return _remembered(query) if len(query) <= _REMEMBERED_MAX else _parse(query)


def _parse(query: str) -> "Query":
    parameters: dict[str, list[str]] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        parameters.setdefault(key, []).append(value)
    return parameters


Query = Mapping[str, list[str]]

_NOTHING: Query = {}
# What clients choose must not make the cache big.
_REMEMBERED_MAX = 256
_remembered = lru_cache(maxsize=512)(_parse)


def first(query: Query, key: str) -> str:
    values = query.get(key)
    return values[0] if values else ""


def flag(query: Query, key: str) -> bool:
    """A boolean parameter; as in Go, present without a value or with an odd one counts as true."""
    return key in query and first(query, key).lower() not in ("false", "0")


def _integer(query: Query, key: str) -> int:
    text = first(query, key)
    if not text:
        return 0
    sign = text[1:] if text[0] in "+-" else text
    if not (sign.isascii() and sign.isdigit()):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def time_limit(query: Query) -> float | None:
    """How long a request may take, in seconds, where its client says so; at most a minute."""
    text = first(query, "timeout")
    if not text:
        return None
    if not _DURATION.fullmatch(text):
        raise bad_request(
            f'invalid timeout specified in the request URL - time: invalid duration "{text}"'
        )
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _SPANS.findall(text))
    return min(seconds, LONGEST_S) if seconds > 0 and not text.startswith("-") else None


def _options_invalid(kind: str, errors: list[FieldError]) -> ApiError:
    return invalid(kind, "meta.k8s.io", "", errors)


def _dry_run(values: list[str], kind: str) -> bool:
    values = [value for value in values if value]
    if any(value != "All" for value in values):
        raise _options_invalid(kind, [fields.not_supported("dryRun", values, ["All"])])
    return bool(values)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of create, update and patch."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: Validation = "Warn"
    force: bool | None = None


_NO_OPTIONS = WriteOptions()


def write_options(query: Query, kind: str) -> WriteOptions:
    """Read CreateOptions, UpdateOptions or PatchOptions (`kind` says which) from a query."""
    if not query:
        return _NO_OPTIONS
    manager = first(query, "fieldManager")
    errors = []
    if len(manager.encode()) > _MANAGER_MAX:
        errors.append(fields.too_long("fieldManager", "may not be more than 128 bytes"))
    elif not manager.isprintable():
        at, odd = next((at, ord(one)) for at, one in enumerate(manager) if not one.isprintable())
        why = f"invalid character U+{odd:04X} (at position {at})"
        errors.append(fields.invalid("fieldManager", manager, why))
    asked = first(query, "fieldValidation") or "Warn"
    validation = _VALIDATION.get(asked)
    if validation is None:
        allowed = ["", *sorted(_VALIDATIONS)]
        errors.append(fields.not_supported("fieldValidation", asked, allowed))
    if errors or validation is None:
        raise _options_invalid(kind, errors)
    if len(query) == 1 and asked == "Warn" and manager:
        return WriteOptions(field_manager=manager)
    return WriteOptions(
        dry_run=_dry_run(query.get("dryRun", []), kind),
        field_manager=manager,
        field_validation=validation,
        force=flag(query, "force") if "force" in query else None,
    )


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Options of delete and deletecollection; None means the client did not say."""

    grace_period_s: int | None = None
    propagation: str | None = None
    precondition_uid: str | None = None
    precondition_revision: str | None = None
    dry_run: bool = False


def delete_options(body: Mapping[str, Any] | None, query: Query) -> DeleteOptions:
    """Read DeleteOptions from the body, or from the query where there is no body."""
    source = dict(body) if body is not None else _delete_query(query)
    preconditions = source.get("preconditions") or {}
    policy, orphan = source.get("propagationPolicy"), source.get("orphanDependents")
    grace = source.get("gracePeriodSeconds")
    errors = []
    if policy is not None and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(fields.invalid("propagationPolicy", policy, why))
    if policy is not None and policy not in _POLICIES:
        errors.append(fields.not_supported("propagationPolicy", policy, [*_POLICIES, "nil"]))
    if errors:
        raise _options_invalid("DeleteOptions", errors)
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    return DeleteOptions(
        grace_period_s=grace,
        propagation=policy,
        precondition_uid=preconditions.get("uid"),
        precondition_revision=preconditions.get("resourceVersion"),
        dry_run=_dry_run(source.get("dryRun") or [], "DeleteOptions"),
    )


def _delete_query(query: Query) -> dict[str, Any]:
    source: dict[str, Any] = {}
    if policy := first(query, "propagationPolicy"):
        source["propagationPolicy"] = policy
    if "orphanDependents" in query:
        source["orphanDependents"] = flag(query, "orphanDependents")
    if "gracePeriodSeconds" in query:
        source["gracePeriodSeconds"] = _integer(query, "gracePeriodSeconds")
    if "dryRun" in query:
        source["dryRun"] = query["dryRun"]
    return source


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Options of list, watch and deletecollection."""

    labels: Selector
    fields: Selector
    watch: bool
    bookmarks: bool
    revision: str  # as given: unset, "0" or a number
    match: str
    timeout_s: int | None
    limit: int
    token: str  # continue
    initial_events: bool | None


def list_options(query: Query) -> ListOptions:
    """Read ListOptions from a query and refuse combinations that have no meaning."""
    initial = flag(query, "sendInitialEvents") if "sendInitialEvents" in query else None
    timeout = _integer(query, "timeoutSeconds") if first(query, "timeoutSeconds") else None
    options = ListOptions(
        labels=parse_label_selector(first(query, "labelSelector")),
        fields=parse_field_selector(first(query, "fieldSelector")),
        watch=flag(query, "watch"),
        bookmarks=flag(query, "allowWatchBookmarks"),
        revision=first(query, "resourceVersion"),
        match=first(query, "resourceVersionMatch"),
        timeout_s=timeout,
        limit=max(0, _integer(query, "limit")),  # fewer than none is no limit
        token=first(query, "continue"),
        initial_events=initial,
    )
    if not _is_revision(options.revision):
        error = _unreadable(options.revision)
        if options.watch:
            raise plain_500(str(error))
        raise bad_request(f"invalid resource version: {error}")
    errors = _watch_errors(options) if options.watch else _list_errors(options)
    if errors:
        raise _options_invalid("ListOptions", errors)
    return options


_MATCH = "resourceVersionMatch"


def _list_errors(options: ListOptions) -> list[FieldError]:
    errors = []
    match, revision = options.match, options.revision
    if options.initial_events is not None:
        why = "sendInitialEvents is forbidden for list"
        errors.append(fields.forbidden("sendInitialEvents", why))
    if not match:
        return errors
    if options.token:
        why = "resourceVersionMatch is forbidden when continue is provided"
        errors.append(fields.forbidden(_MATCH, why))
    if not revision:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        errors.append(fields.forbidden(_MATCH, why))
    if match not in ("Exact", "NotOlderThan"):
        errors.append(fields.not_supported(_MATCH, match, ["Exact", "NotOlderThan", ""]))
    if match == "Exact" and revision == "0":
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        errors.append(fields.forbidden(_MATCH, why))
    return errors


def _watch_errors(options: ListOptions) -> list[FieldError]:
    errors = []
    if options.initial_events is not None:
        if options.match != "NotOlderThan":
            why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            errors.append(fields.forbidden(_MATCH, why))
        if options.match not in ("", "NotOlderThan"):
            errors.append(fields.not_supported(_MATCH, options.match, ["NotOlderThan"]))
    elif options.match:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        errors.append(fields.forbidden(_MATCH, why))
    return errors


def named_revision(query: Query) -> int:
    """As how new an object is wanted at the least; 0 if the client does not say."""
    text = first(query, "resourceVersion")
    if not _is_revision(text):
        raise plain_500(str(_unreadable(text)))
    return int(text or 0)


def _unreadable(revision: str) -> FieldError:
    why = f'strconv.ParseUint: parsing "{revision}": invalid syntax'
    return fields.invalid("resourceVersion", revision, why)


def parse_revision(text: str) -> int:
    """The resourceVersion in an object, as a number; kube-apiserver answers 500 if it is none."""
    if not _is_revision(text):
        raise plain_500(f'strconv.ParseUint: parsing "{text}": invalid syntax')
    return int(text or 0)


def _is_revision(text: str) -> bool:
    return not text or (text.isascii() and text.isdigit())
