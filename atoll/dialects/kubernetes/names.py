"""What names may look like: the rules of RFC 1123 and of Kubernetes, with Kubernetes' sentences.

Each rule takes a string and gives the reasons why it is not such a name; none if it is. The
patterns are our own and never backtrack far, so Python's engine is as safe here as a linear one.
"""

import re
from collections.abc import Mapping

LABEL_MAX = 63
SUBDOMAIN_MAX = 253

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_label = re.compile(_LABEL)
_subdomain = re.compile(_SUBDOMAIN)
_qualified = re.compile(_QUALIFIED)
_label_value = re.compile(f"({_QUALIFIED})?")
_rfc1035 = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?")
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_wildcard = re.compile(_WILDCARD)


def _too_long(limit: int, unit: str = "bytes") -> str:
    return f"must be no more than {limit} {unit}"


def _explain(rule: str, pattern: str, *examples: str) -> str:
    shown = "',  or '".join(examples)
    return f"{rule} (e.g. '{shown}', regex used for validation is '{pattern}')"


def label_faults(name: str) -> list[str]:
    """An RFC 1123 label: what namespaces are called."""
    if len(name) <= LABEL_MAX and _label.fullmatch(name):  # as nearly always
        return []
    reasons = [_too_long(LABEL_MAX, "characters")] if len(name.encode()) > LABEL_MAX else []
    if _label.fullmatch(name):
        return reasons
    if _subdomain.fullmatch(name):
        reasons.append("must not contain dots")
    else:
        rule = (
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-',"
            " and must start and end with an alphanumeric character"
        )
        reasons.append(_explain(rule, _LABEL, "my-name", "123-abc"))
    return reasons


def subdomain_faults(name: str, *, unit: str = "characters") -> list[str]:
    """An RFC 1123 subdomain: what most objects are called."""
    if len(name) <= SUBDOMAIN_MAX and _subdomain.fullmatch(name):
        return []
    too_long = len(name.encode()) > SUBDOMAIN_MAX
    reasons = [_too_long(SUBDOMAIN_MAX, unit)] if too_long else []
    if not _subdomain.fullmatch(name):
        rule = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,"
            " '-' or '.', and must start and end with an alphanumeric character"
        )
        reasons.append(_explain(rule, _SUBDOMAIN, "example.com"))
    return reasons


def wildcard_faults(name: str) -> list[str]:
    """A subdomain below any one name: `*.example.com`."""
    too_long = len(name.encode()) > SUBDOMAIN_MAX
    reasons = [_too_long(SUBDOMAIN_MAX)] if too_long else []
    if not _wildcard.fullmatch(name):
        rule = (
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain,"
            " which must consist of lower case alphanumeric characters, '-' or '.' and end with an"
            " alphanumeric character"
        )
        reasons.append(_explain(rule, _WILDCARD, "*.example.com"))
    return reasons


def rfc1035_faults(name: str) -> list[str]:
    """An RFC 1035 label: what services are called."""
    reasons = [_too_long(LABEL_MAX, "characters")] if len(name.encode()) > LABEL_MAX else []
    if not _rfc1035.fullmatch(name):
        rule = (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with"
            " an alphabetic character, and end with an alphanumeric character"
        )
        reasons.append(_explain(rule, "[a-z]([-a-z0-9]*[a-z0-9])?", "my-name", "abc-123"))
    return reasons


def path_segment_faults(name: str) -> list[str]:
    """Anything that can stand in a URL path: what RBAC objects are called."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{mark}'" for mark in ("/", "%") if mark in name]


def qualified_faults(name: str) -> list[str]:
    """An optional DNS prefix and a name: label keys, finalizers, taints."""
    if len(name) <= LABEL_MAX and _qualified.fullmatch(name):  # one without a prefix
        return []
    prefix, slash, rest = name.rpartition("/")
    reasons = []
    if slash:
        if "/" in prefix:
            return [_explain_qualified()]
        if not prefix:
            reasons.append("prefix part must be non-empty")
        else:
            wrong = subdomain_faults(prefix, unit="bytes")
            reasons += [f"prefix part {reason}" for reason in wrong]
    if not rest:
        reasons.append("name part must be non-empty")
    elif len(rest.encode()) > LABEL_MAX:
        reasons.append(f"name part {_too_long(LABEL_MAX)}")
    if not _qualified.fullmatch(rest):
        rule = (
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start"
            " and end with an alphanumeric character"
        )
        reasons.append(_explain(rule, _QUALIFIED, "MyName", "my.name", "123-abc"))
    return reasons


def _explain_qualified() -> str:
    rule = (
        "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start"
        " and end with an alphanumeric character"
    )
    explained = _explain(rule, _QUALIFIED, "MyName", "my.name", "123-abc")
    return f"{explained} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"


# Each accepts only what has no fault, and nearly all that has none, in one step.
_plain_key = re.compile(
    rf"(?:(?=[^/]{{1,{SUBDOMAIN_MAX}}}/){_SUBDOMAIN}/)?"
    r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
).fullmatch
_plain_value = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?").fullmatch


def are_labels(labels: Mapping[str, str]) -> bool:
    """Whether nothing is wrong with any of these keys and values: quickly asked, mostly so."""
    for key, value in labels.items():
        if value.__class__ is not str or not _plain_key(key) or not _plain_value(value):
            return False
    return True


def label_value_faults(value: str) -> list[str]:
    """What a label may be set to; empty is allowed."""
    if len(value) <= LABEL_MAX and _label_value.fullmatch(value):
        return []
    reasons = [_too_long(LABEL_MAX)] if len(value.encode()) > LABEL_MAX else []
    if not _label_value.fullmatch(value):
        rule = (
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_'"
            " or '.', and must start and end with an alphanumeric character"
        )
        reasons.append(_explain(rule, f"({_QUALIFIED})?", "MyValue", "my_value", "12345"))
    return reasons
