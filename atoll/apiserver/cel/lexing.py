"""The words of an expression: names, numbers, strings and signs, each with its offset.

Strings come out as their values; what is no word of the language is an issue in ANTLR's words, for
those are what users of Kubernetes know.
"""

import re
from dataclasses import dataclass
from typing import Any

from atoll.apiserver.cel.faults import Issue, NotAnExpression

_QUOTES = r'"""|' + r"'''|" + r"""["']"""
_words = re.compile(
    r"""
      (?P<space>[ \t\r\n\f]+|//[^\n]*)
    | (?P<float>[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    | (?P<int>0x[0-9a-fA-F]+|[0-9]+)(?P<uint>[uU])?
    | (?P<prefix>[rRbB]{0,2})(?P<quote>"""
    + _QUOTES
    + r""")
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | `(?P<escaped>[A-Za-z0-9_.\-/ ]+)`
    | (?P<sign>==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE,
)
_PREFIXES = frozenset(["", "r", "b", "rb", "br"])
_SIMPLE = dict(zip("abfnrtv\\'\"`?", "\a\b\f\n\r\t\v\\'\"`?", strict=True))
_DIGITS = {"x": 2, "X": 2, "u": 4, "U": 8}
_INT_MIN, _INT_MAX, _UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its kind (a sign is its own kind), its text, and the value of a literal."""

    kind: str
    text: str
    at: int
    value: Any = None


def words_of(source: str, issues: list[Issue]) -> list[Word]:
    """All words, and one of the kind "end" behind them; `issues` is told what is no word."""
    words: list[Word] = []
    at = 0
    while at < len(source):
        found = _words.match(source, at)
        if found is None:
            issues.append(_unrecognized(source, at, at + 1))
            at += 1
            continue
        if found["quote"] is not None:
            word = _string(source, found)
        elif found["space"] is None:
            word = _plain(source, found)
        else:
            at = found.end()
            continue
        words.append(word)
        at = at + len(word.text)
    words.append(Word("end", "<EOF>", len(source)))
    return words


def _unrecognized(source: str, at: int, end: int) -> Issue:
    return Issue(at, f"Syntax error: token recognition error at: '{_visible(source[at:end])}'")


def _visible(text: str) -> str:
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def _plain(source: str, found: re.Match[str]) -> Word:
    at, text = found.start(), found.group()
    if found["sign"] is not None:
        return Word(text, text, at)
    if found["name"] is not None:
        return Word("name", text, at)
    if found["escaped"] is not None:
        return Word("escaped", text, at, found["escaped"])
    if found["float"] is not None:
        return Word("float", text, at, float(text))
    number = int(found["int"], 16 if text[:2] == "0x" else 10) if len(text) < 64 else _UINT_MAX + 1
    return Word("uint" if found["uint"] else "int", text, at, number)


def _string(source: str, found: re.Match[str]) -> Word:
    at, prefix, quote = found.start(), found["prefix"].lower(), found["quote"]
    if prefix not in _PREFIXES:
        raise NotAnExpression(source, [_unrecognized(source, at, found.end())])
    raw, start = "r" in prefix, found.end()
    end = start
    while True:
        if end >= len(source) or (len(quote) == 1 and source[end] in "\r\n"):
            raise NotAnExpression(source, [_unrecognized(source, at, end)])
        if source.startswith(quote, end):
            break
        end += 2 if source[end] == "\\" and not raw else 1
    text, body = source[at : end + len(quote)], source[start:end]
    kind = "bytes" if "b" in prefix else "string"
    if len(quote) == 3:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    if raw:
        value: Any = body.encode() if kind == "bytes" else body
    else:
        value = _unescaped(source, at, body, of_bytes=kind == "bytes")
    return Word(kind, text, at, value)


def _unescaped(source: str, at: int, body: str, *, of_bytes: bool) -> Any:
    parts: list[bytes] = []
    index = 0
    while index < len(body):
        if body[index] != "\\":
            end = body.find("\\", index)
            end = len(body) if end < 0 else end
            parts.append(body[index:end].encode("utf-8", "surrogatepass"))
            index = end
            continue
        length, value = _escape(body, index + 1, of_bytes=of_bytes)
        if value is None:
            end = at + source[at:].find("\\") + 2
            raise NotAnExpression(source, [_unrecognized(source, at, end)])
        parts.append(value)
        index += 1 + length
    joined = b"".join(parts)
    return joined if of_bytes else joined.decode("utf-8", "replace")


def _escape(body: str, index: int, *, of_bytes: bool) -> tuple[int, bytes | None]:
    """How many characters an escape takes behind the backslash, and what it stands for."""
    letter = body[index : index + 1]
    if letter in _SIMPLE:
        return 1, _SIMPLE[letter].encode()
    if letter in _DIGITS and letter:
        count = _DIGITS[letter]
        digits, base, skipped = body[index + 1 : index + 1 + count], 16, 1
        if of_bytes and count > 2:
            return 0, None
    else:
        count, digits, base, skipped = 3, body[index : index + 3], 8, 0
    allowed = "0123456789abcdefABCDEF" if base == 16 else "01234567"
    if len(digits) != count or any(digit not in allowed for digit in digits):
        return 0, None
    code = int(digits, base)
    if of_bytes:
        return skipped + count, bytes([code]) if code < 256 else None
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return 0, None
    return skipped + count, chr(code).encode()


def is_int(number: int) -> bool:
    """Whether a number is one of the language's: of 64 bits, with a sign."""
    return _INT_MIN <= number <= _INT_MAX


def is_uint(number: int) -> bool:
    return 0 <= number <= _UINT_MAX
