"""What is wrong with a text that is not JSON, in the words of Go's decoder.

Clients show these sentences to their users, and some tests match them. Only the unhappy path comes
here, after the fast decoder has refused a text. One character is one byte of the body.
"""

import re
from collections.abc import Callable

DEPTH_MAX = 10_000
END = "unexpected end of JSON input"

_space = re.compile(r"[ \t\r\n]*")
_plain = re.compile(r'[^"\\\x00-\x1f]*')
_digits = re.compile(r"[0-9]*")
_LITERALS = {"t": "true", "f": "false", "n": "null"}


class Fault(Exception):
    """Where a text stops being JSON; the message is Go's."""


def find_fault(text: str) -> str | None:
    """Say what Go's decoder would say of this text; None if it is well-formed JSON."""
    try:
        _Scan(text).document()
    except Fault as fault:
        return str(fault)
    return None


def shown_character(character: str) -> str:
    """A character in quotes, as Go shows it in such messages."""
    if character in "'\\":
        return f"'\\{character}'"
    if character in '"' or (character.isprintable() and character != "\xad"):
        return f"'{character}'"
    escapes = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
    escapes |= {"\a": "\\a", "\v": "\\v"}
    code = ord(character)
    default = f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}"
    return f"'{escapes.get(character, default)}'"


class _Scan:
    """One pass over a text; containers are kept on a stack, so depth costs no recursion."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[str] = []

    def document(self) -> None:
        expect: Callable[[], str] = self.value
        steps = {
            "value": self.value,
            "first value": self.first_value,
            "first key": self.first_key,
            "key": self.key,
            "after": self.after,
        }
        while (following := expect()) != "done":
            expect = steps[following]
        if self.peek():
            raise self.wrong("after top-level value")

    def peek(self) -> str:
        """Skip white space and look at the next character; empty at the end."""
        found = _space.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return self.text[self.at : self.at + 1]

    def wrong(self, where: str) -> Fault:
        character = self.text[self.at : self.at + 1]
        return Fault(
            f"invalid character {shown_character(character)} {where}" if character else END
        )

    def first_value(self) -> str:
        if self.peek() == "]":
            return self.close()
        return self.value()

    def value(self) -> str:
        start = self.peek()
        if start in ("{", "["):
            if len(self.open) == DEPTH_MAX:
                raise self.wrong("exceeded max depth")
            self.open.append(start)
            self.at += 1
            return "first key" if start == "{" else "first value"
        self.scalar(start)
        return "after" if self.open else "done"

    def scalar(self, start: str) -> None:
        if start == '"':
            self.string()
        elif start and start in _LITERALS:
            self.literal(_LITERALS[start])
        elif start == "-" or start.isdigit():
            self.number()
        else:
            raise self.wrong("looking for beginning of value")

    def first_key(self) -> str:
        if self.peek() == "}":
            return self.close()
        return self.key()

    def key(self) -> str:
        if self.peek() != '"':
            raise self.wrong("looking for beginning of object key string")
        self.string()
        if self.peek() != ":":
            raise self.wrong("after object key")
        self.at += 1
        return "value"

    def after(self) -> str:
        container, found = self.open[-1], self.peek()
        if found == ",":
            self.at += 1
            return "key" if container == "{" else "value"
        if found != ("}" if container == "{" else "]"):
            raise self.wrong(
                "after object key:value pair" if container == "{" else "after array element"
            )
        return self.close()

    def close(self) -> str:
        self.open.pop()
        self.at += 1
        return "after" if self.open else "done"

    def string(self) -> None:
        self.at += 1
        while True:
            self.run(_plain)
            found = self.text[self.at : self.at + 1]
            if found == '"':
                self.at += 1
                return
            if found != "\\":
                raise self.wrong("in string literal")
            self.escape()

    def escape(self) -> None:
        self.at += 1
        found = self.text[self.at : self.at + 1]
        if not found or found not in '"\\/bfnrtu':
            raise self.wrong("in string escape code")
        self.at += 1
        if found != "u":
            return
        for _ in range(4):
            digit = self.text[self.at : self.at + 1]
            if not digit or digit not in "0123456789abcdefABCDEF":
                raise self.wrong("in \\u hexadecimal character escape")
            self.at += 1

    def literal(self, word: str) -> None:
        for letter in word[1:]:
            self.at += 1
            if self.text[self.at : self.at + 1] != letter:
                raise self.wrong(f"in literal {word} (expecting {shown_character(letter)})")
        self.at += 1

    def number(self) -> None:
        if self.text[self.at] == "-":
            self.at += 1
            if not self.text[self.at : self.at + 1].isdigit():
                raise self.wrong("in numeric literal")
        if self.text[self.at] == "0":
            self.at += 1
        else:
            self.run(_digits)
        if self.text[self.at : self.at + 1] == ".":
            self.at += 1
            self.some_digits("after decimal point in numeric literal")
        if self.text[self.at : self.at + 1] in ("e", "E"):
            self.at += 1
            if self.text[self.at : self.at + 1] in ("+", "-"):
                self.at += 1
            self.some_digits("in exponent of numeric literal")

    def some_digits(self, where: str) -> None:
        if not self.run(_digits):
            raise self.wrong(where)

    def run(self, pattern: re.Pattern[str]) -> bool:
        """Move over what the pattern matches; False if that is nothing."""
        found = pattern.match(self.text, self.at)
        assert found is not None
        moved = found.end() > self.at
        self.at = found.end()
        return moved
