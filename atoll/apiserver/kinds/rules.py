"""Rules that many kinds share: numbers, choices, ports, keys, references, what may not change."""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from atoll.apiserver.fields.error import (
    Errors,
    duplicate,
    faulty,
    forbidden,
    invalid,
    named,
    not_supported,
    required,
)
from atoll.apiserver.kinds.reading import at, each, given, items, parts, text
from atoll.dialects.kubernetes.names import path_segment_faults, subdomain_faults
from atoll.model.quantity import parse
from atoll.wire import Wire

_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
# All keys in one look, with what none of them may have between them.
_ONE_KEY = r"(?!\.\.)(?!\.(?:/|\Z))[-._a-zA-Z0-9]{1,253}"
_CONFIG_KEYS = re.compile(f"{_ONE_KEY}(?:/{_ONE_KEY})*")
_CONFIG_KEY_WHY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',"
    "  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_PERCENT = re.compile("[0-9]+%")
_PERCENT_WHY = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or"
    " '93%', regex used for validation is '[0-9]+%')"
)
_PORT_NAME = re.compile("[-a-z0-9]+")
_LETTER = re.compile("[a-z]")
NOT_NEGATIVE = "must be greater than or equal to 0"
PORT_RANGE = "must be between 1 and 65535, inclusive"
IMMUTABLE = "field is immutable"
MISMATCH = "`selector` does not match template `labels`"

# What is wrong with an object, which stands at a path.
Check = Callable[[Wire, str], Errors]


def in_go(key: str) -> str:
    """What a field is called inside Kubernetes' program."""
    return key[0].upper() + key[1:]


def not_negative(obj: Wire, path: str, *keys: str) -> Errors:
    """Each of these numbers, where given, must be 0 or more."""
    return [error for key in keys for error in in_range(obj, path, key, NOT_NEGATIVE)]


def in_range(
    obj: Wire, path: str, key: str, why: str, least: int = 0, *, most: int | None = None
) -> Errors:
    """This number, where given, may be neither less nor more."""
    value = obj.get(key)
    if not isinstance(value, int) or (value >= least and (most is None or value <= most)):
        return []
    return [invalid(_below(path, key), value, why)]


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def amount_errors(amount: Any, where: str) -> Errors:
    """A quantity, where given, must be 0 or more."""
    value = parse(amount)
    return [] if value is None or value >= 0 else [invalid(where, amount, NOT_NEGATIVE)]


def one_of(obj: Wire, path: str, key: str, allowed: Sequence[str]) -> Errors:
    """This field, where given, must be one of these."""
    return [] if obj.get(key) is None else chosen(obj, path, key, allowed)


def chosen(obj: Wire, path: str, key: str, allowed: Sequence[str]) -> Errors:
    """This field must be given, and be one of these."""
    value = obj.get(key)
    return [] if value in allowed else [not_supported(_below(path, key), value, allowed)]


def needed(obj: Wire, path: str, *keys: str) -> Errors:
    """Each of these texts must be there."""
    return [required(_below(path, key)) for key in keys if not text(obj, key)]


def unique(seen: set[str], value: str, where: str) -> Errors:
    """This must not be among what was seen before it, which is added to."""
    if value in seen:
        return [duplicate(where, value)]
    seen.add(value)
    return []


def if_given(obj: Wire, path: str, key: str, check: Check) -> Errors:
    """What is wrong with the object in this field, if there is one."""
    there = given(obj, key)
    return [] if there is None else check(there, f"{path}.{key}")


def in_each(obj: Wire, path: str, key: str, check: Check) -> Errors:
    """What is wrong with the objects in the list in this field."""
    for one, where in each(parts(obj, key), f"{path}.{key}"):
        yield from check(one, where)


def all_of(obj: Wire, path: str, key: str, allowed: Sequence[str]) -> Errors:
    """Each of what is listed in this field must be one of these."""
    return [
        not_supported(f"{path}.{key}[{index}]", value, allowed)
        for index, value in enumerate(items(obj, key))
        if value not in allowed
    ]


def port_errors(port: Any, where: str) -> Errors:
    if isinstance(port, int) and not 1 <= port <= 65535:
        return [invalid(where, port, PORT_RANGE)]
    return []


def port_name_errors(name: str, where: str) -> Errors:
    """What ports may be called: at most 15 of a-z, 0-9 and hyphens, with a letter."""
    reasons = []
    if len(name) > 15:
        reasons.append("must be no more than 15 characters")
    if not _PORT_NAME.fullmatch(name):
        reasons.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _LETTER.search(name):
        reasons.append("must contain at least one letter (a-z)")
    if "--" in name:
        reasons.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        reasons.append("must not begin or end with a hyphen")
    return faulty(where, name, reasons)


def share_errors(value: Any, where: str) -> Errors:
    """A number of pods, or a percentage of them."""
    if isinstance(value, str):
        return [] if _PERCENT.fullmatch(value) else [invalid(where, value, _PERCENT_WHY)]
    if isinstance(value, int) and value < 0:
        return [invalid(where, value, NOT_NEGATIVE)]
    return []


def above_all(value: Any, where: str) -> Errors:
    """A percentage that may not be more than everything."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) > 100:
        return [invalid(where, value, "must not be greater than 100%")]
    return []


def is_zero_share(value: Any) -> bool:
    return value in (None, 0) or (isinstance(value, str) and value.rstrip("%").strip("0") == "")


def key_errors(data: Wire, path: str) -> Errors:
    """The keys of a ConfigMap's or Secret's data, which become file names."""
    if are_config_keys(data):
        return []
    return [
        invalid(f"{path}[{key}]", key, reason)
        for key in sorted(data)
        for reason in config_key_faults(key)
    ]


def are_config_keys(keys: Collection[str]) -> bool:
    """Whether data may be kept under all of these keys."""
    if not keys:
        return True
    joined = "/".join(keys)
    return _CONFIG_KEYS.fullmatch(joined) is not None and joined.count("/") == len(keys) - 1


def config_key_faults(key: str) -> list[str]:
    """Why nothing may be kept under this key."""
    reasons = []
    if len(key.encode()) > 253:
        reasons.append("must be no more than 253 bytes")
    if not _CONFIG_KEY.fullmatch(key):
        reasons.append(_CONFIG_KEY_WHY)
    if key == ".":
        reasons.append("must not be '.'")
    elif key == "..":
        reasons.append("must not be '..'")
    elif key.startswith(".."):
        reasons.append("must not start with '..'")
    return reasons


def unchanged(new: Wire, old: Wire, *path: str) -> Errors:
    """The field at this path may not change."""
    value = at(new, *path)
    if value == at(old, *path):
        return []
    return [invalid(".".join(path), value, IMMUTABLE)]


def fixed(*paths: Sequence[str]) -> Callable[[Wire, Wire], Errors]:
    """None of the fields at these paths may change."""
    return lambda new, old: [error for path in paths for error in unchanged(new, old, *path)]


def frozen_data(new: Wire, old: Wire, *keys: str) -> Errors:
    """What an object marked `immutable` no longer allows: changing its data, or losing the mark."""
    if not old.get("immutable"):
        return
    why = "field is immutable when `immutable` is set"
    if not new.get("immutable"):
        yield forbidden("immutable", why)
    yield from (forbidden(key, why) for key in keys if (new.get(key) or {}) != (old.get(key) or {}))


_PATH_PATTERN = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PATH = re.compile(_PATH_PATTERN)


def named_errors(reference: Wire, where: str, *keys: str) -> Errors:
    """Each of these must be given, and be fit to stand in a path."""
    for key in keys:
        yield from named(f"{where}.{key}", text(reference, key), path_segment_faults)


def api_group_errors(reference: Wire, where: str) -> Errors:
    """The group of what is pointed to, where it is given."""
    group = reference.get("apiGroup")
    return [] if group is None else faulty(f"{where}.apiGroup", group, subdomain_faults(group))


def prefixed_path_errors(path: str, where: str) -> Errors:
    """A path under a domain, as controllers are called: acme.io/foo."""
    if not path:
        yield required(where)
        return
    host, _, rest = path.partition("/")
    if not host or not rest:
        yield invalid(where, path, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    yield from faulty(where, host, subdomain_faults(host))
    if not _PATH.fullmatch(rest):
        yield invalid(where, rest, f"Invalid path (regex used for validation is '{_PATH_PATTERN}')")
