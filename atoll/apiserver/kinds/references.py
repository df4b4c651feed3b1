"""How objects point to others: by group, kind, resource and name, each a part of some path."""

import re

from atoll.apiserver.fields.error import FieldError, invalid, required
from atoll.apiserver.kinds.reading import Object, text
from atoll.dialects.kubernetes.names import path_segment_faults, subdomain_faults

_PATH_PATTERN = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PATH = re.compile(_PATH_PATTERN)


def named_errors(reference: Object, where: str, *keys: str) -> list[FieldError]:
    """Each of these must be given, and be fit to stand in a path."""
    errors: list[FieldError] = []
    for key in keys:
        value, place = text(reference, key), f"{where}.{key}"
        if value:
            errors += [invalid(place, value, reason) for reason in path_segment_faults(value)]
        else:
            errors.append(required(place))
    return errors


def api_group_errors(reference: Object, where: str) -> list[FieldError]:
    """The group of what is pointed to, where it is given."""
    group = reference.get("apiGroup")
    if group is None:
        return []
    return [invalid(f"{where}.apiGroup", group, reason) for reason in subdomain_faults(group)]


def prefixed_path_errors(path: str, where: str) -> list[FieldError]:
    """A path under a domain, as controllers are called: acme.io/foo."""
    if not path:
        return [required(where)]
    host, _, rest = path.partition("/")
    if not host or not rest:
        return [invalid(where, path, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid(where, host, reason) for reason in subdomain_faults(host)]
    if not _PATH.fullmatch(rest):
        why = f"Invalid path (regex used for validation is '{_PATH_PATTERN}')"
        errors.append(invalid(where, rest, why))
    return errors
