"""Formats by name (dns1123Label, uuid, …), and what is wrong with a text in one of them."""

from collections.abc import Callable
from dataclasses import dataclass

from atoll.apiserver.cel.declaring import Table
from atoll.apiserver.cel.faults import Failed
from atoll.apiserver.cel.library.network import TABLE as NETWORK
from atoll.apiserver.cel.values import NOTHING, Frame, Optional, named
from atoll.apiserver.schemas.formats import string_check
from atoll.dialects.kubernetes.names import (
    label_faults,
    label_value_faults,
    qualified_faults,
    rfc1035_faults,
    subdomain_faults,
)


@named("kubernetes.NamedFormat")
@dataclass(frozen=True, slots=True, eq=False)
class NamedFormat:
    """A format, and what finds the faults of a text in it."""

    name: str
    faults: Callable[[Frame, str], list[str]]


def _names(faults: Callable[[str], list[str]]) -> Callable[[Frame, str], list[str]]:
    return lambda _, text: faults(text)


def _prefixes(faults: Callable[[str], list[str]]) -> Callable[[Frame, str], list[str]]:
    """Of a name that something will be put behind: it may end in a dash."""
    return lambda _, text: faults(text[:-1] + "a" if text.endswith("-") and text[1:] else text)


def _checked(name: str, fault: str) -> Callable[[Frame, str], list[str]]:
    check = string_check(name)
    assert check is not None, f"{name} is a format of schemas"
    return lambda _, text: [] if check(text) else [fault]


def _uri(frame: Frame, text: str) -> list[str]:
    try:
        NETWORK["url(string) -> URL"](frame, text)
    except Failed as fault:
        return [str(fault).partition(": ")[2]]
    return []


_FORMATS = {
    format_.name: format_
    for format_ in (
        NamedFormat("dns1123Label", _names(label_faults)),
        NamedFormat("dns1123Subdomain", _names(subdomain_faults)),
        NamedFormat("dns1035Label", _names(rfc1035_faults)),
        NamedFormat("qualifiedName", _names(qualified_faults)),
        NamedFormat("dns1123LabelPrefix", _prefixes(label_faults)),
        NamedFormat("dns1123SubdomainPrefix", _prefixes(subdomain_faults)),
        NamedFormat("dns1035LabelPrefix", _prefixes(rfc1035_faults)),
        NamedFormat("labelValue", _names(label_value_faults)),
        NamedFormat("uri", _uri),
        NamedFormat("uuid", _checked("uuid", "does not match the UUID format")),
        NamedFormat("byte", _checked("byte", "invalid base64")),
        NamedFormat("date", _checked("date", "invalid date")),
        NamedFormat("datetime", _checked("date-time", "invalid datetime")),
    )
}


def _named(_: Frame, name: str) -> Optional:
    found = _FORMATS.get(name)
    return NOTHING if found is None else Optional(True, found)


def _validated(frame: Frame, known: NamedFormat, text: str) -> Optional:
    frame.pay(len(text))
    faults = known.faults(frame, text)
    return Optional(True, faults) if faults else NOTHING


def _constant(known: NamedFormat) -> Callable[[Frame], NamedFormat]:
    return lambda _: known


TABLE: Table = {
    "format.named(string) -> optional(NamedFormat)": _named,
    "NamedFormat.validate(string) -> optional(list(string))": _validated,
    **{f"format.{name}() -> NamedFormat": _constant(known) for name, known in _FORMATS.items()},
}
