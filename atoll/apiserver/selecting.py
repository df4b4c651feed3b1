"""Label and field selectors as clients write them in a query string.

`a=b,c!=d,e in (f,g),h,!i,j>1` for labels; `metadata.name=x,status.phase!=y` for fields. What cannot
be read is answered with kube-apiserver's sentences, since tools show them to people.
"""

from collections.abc import Container, Iterator
from functools import lru_cache

import re2

from atoll.apiserver.resource import Resource
from atoll.apiserver.status import bad_request
from atoll.dialects.kubernetes.names import label_value_faults, qualified_faults
from atoll.model.selector import EVERYTHING, Operator, Requirement, Selector, as_integer

_TOKEN = re2.compile(r"\s*(==|!=|[=!<>(),]|[^\s=!<>(),]+)")
_SYMBOLS = frozenset(["==", "!=", "=", "!", "<", ">", "(", ")", ","])
_ENDS = ("", ",")
_OPERATORS = "in, notin, =, ==, !=, gt, lt"


class _Tokens:
    """The words of a selector, one ahead."""

    def __init__(self, text: str) -> None:
        self._words = _split(text)
        self._at = 0

    def peek(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def take(self) -> str:
        word = self.peek()
        self._at += 1
        return word


def _split(text: str) -> list[str]:
    # All at once: to match from one place on takes as long as the whole text is.
    words: list[str] = _TOKEN.findall(text)
    return words


@lru_cache(maxsize=4096)
def parse_label_selector(text: str) -> Selector:
    """Read a label selector; ApiError 400 says what could not be understood."""
    if not text.strip():
        return EVERYTHING
    tokens = _Tokens(text)
    requirements = [_requirement(tokens)]
    while tokens.peek() == ",":
        tokens.take()
        if tokens.peek() == "":
            raise bad_request("found '', expected: identifier after ','")
        requirements.append(_requirement(tokens))
    if tokens.peek():
        raise _unreadable(f"found '{tokens.peek()}', expected: ',' or 'end of string'")
    return Selector(tuple(requirements))


def _requirement(tokens: _Tokens) -> Requirement:
    if tokens.peek() == "!":
        tokens.take()
        return Requirement(_key(tokens), Operator.NOT_EXISTS)
    key = _key(tokens)
    word = tokens.peek()
    if word in _ENDS:
        return Requirement(key, Operator.EXISTS)
    tokens.take()
    match word:
        case "=" | "==":
            return Requirement(key, Operator.IN, (_value(tokens, key),))
        case "!=":
            return Requirement(key, Operator.NOT_IN, (_value(tokens, key),))
        case "in":
            return Requirement(key, Operator.IN, _values(tokens, key))
        case "notin":
            return Requirement(key, Operator.NOT_IN, _values(tokens, key))
        case ">" | "gt":
            return Requirement(key, Operator.GREATER, (_number(tokens, key),))
        case "<" | "lt":
            return Requirement(key, Operator.LESS, (_number(tokens, key),))
    raise _unreadable(f"found '{word}', expected: {_OPERATORS}")


def _key(tokens: _Tokens) -> str:
    word = tokens.take()
    if word in _SYMBOLS or not word:
        raise bad_request(f"found '{word}', expected: !, identifier, or 'end of string'")
    reasons = qualified_faults(word)
    if reasons:
        raise _unreadable(f'<nil>: Invalid value: "{word}": {"; ".join(reasons)}')
    return word


def _value(tokens: _Tokens, key: str) -> str:
    word = tokens.peek()
    if word in _ENDS:
        return ""
    if word in _SYMBOLS:
        raise _unreadable(f"found '{word}', expected: identifier")
    return _checked(tokens.take(), key, 0)


def _checked(value: str, key: str, index: int) -> str:
    reasons = label_value_faults(value)
    if reasons:
        where = f"values[{index}][{key}]"
        raise _unreadable(f'{where}: Invalid value: "{value}": {"; ".join(reasons)}')
    return value


def _number(tokens: _Tokens, key: str) -> str:
    value = _value(tokens, key)
    if as_integer(value) is None:
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        raise _unreadable(f'values[0]: Invalid value: "{value}": {detail}')
    return value


def _values(tokens: _Tokens, key: str) -> tuple[str, ...]:
    opening = tokens.take()
    if opening != "(":
        raise _unreadable(f"found '{opening}' expected: '('")
    values: list[str] = []
    while True:
        word = tokens.peek()
        if word in (",", ")"):
            values.append("")
        elif word in _SYMBOLS or not word:
            raise _unreadable(f"found '{word}', expected: ',', ')' or identifier")
        else:
            values.append(_checked(tokens.take(), key, len(values)))
        closing = tokens.take()
        if closing == ")":
            return tuple(values)
        if closing != ",":
            raise _unreadable(f"found '{closing}', expected: ',' or ')'")


def _unreadable(why: str) -> Exception:
    return bad_request(f"unable to parse requirement: {why}")


def parse_field_selector(text: str) -> Selector:
    """Read a field selector; ApiError 400 says what could not be understood."""
    requirements = []
    for term in _terms(text):
        if not term:
            continue
        key, operator, value = _field_term(term)
        if key is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        requirements.append(Requirement(key, operator, (_unescaped(value),)))
    return Selector(tuple(requirements))


def _terms(text: str) -> Iterator[str]:
    """Split at commas that are not escaped with a backslash."""
    start = at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == ",":
            yield text[start:at]
            start = at + 1
        at += 1
    yield text[start:]


def _field_term(term: str) -> tuple[str | None, Operator, str]:
    for at, mark in enumerate(term):
        if term[at : at + 2] == "!=":
            return term[:at], Operator.NOT_IN, term[at + 2 :]
        if term[at : at + 2] == "==":
            return term[:at], Operator.IN, term[at + 2 :]
        if mark == "=":
            return term[:at], Operator.IN, term[at + 1 :]
    return None, Operator.IN, ""


def _unescaped(value: str) -> str:
    out = []
    escaped = False
    for mark in value:
        if escaped:
            if mark not in ",=\\":
                raise bad_request(f"invalid field selector: invalid escape sequence: \\{mark}")
            out.append(mark)
            escaped = False
        elif mark == "\\":
            escaped = True
        elif mark in ",=":
            raise bad_request(f"invalid field selector: unescaped character in value: {mark}")
        else:
            out.append(mark)
    return "".join(out)


def check_fields_known(selector: Selector, known: Container[str], resource: Resource) -> None:
    """ApiError 400 for a field that this kind cannot be selected by."""
    for requirement in selector.requirements:
        if requirement.key in known:
            continue
        if resource.custom or resource.strategy.selectable:
            raise bad_request(f"field label not supported: {requirement.key}")
        allowed = 'only "metadata.name", "metadata.namespace"'
        raise bad_request(f'"{requirement.key}" is not a known field selector: {allowed}')
