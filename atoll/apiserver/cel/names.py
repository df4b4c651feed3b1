"""The names that expressions may give to things, and those the language keeps for itself."""

import re

KEYWORDS = frozenset(["true", "false", "null", "in"])
RESERVED = frozenset(
    [
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    ]
)
_identifier = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")


def is_reserved(name: str) -> bool:
    """Whether the language has, or may come to have, a meaning of its own for a name."""
    return name in KEYWORDS or name in RESERVED


def is_identifier(name: str) -> bool:
    """Whether something may be called so."""
    return _identifier.fullmatch(name) is not None and not is_reserved(name)
