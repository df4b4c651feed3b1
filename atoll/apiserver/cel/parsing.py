"""From the text of an expression to its parts, macros read.

In: source text. Out: a Node; or NotAnExpression with the first thing that is wrong, worded as the
parser of Kubernetes words it where that has one form. Nothing here knows a type or a function.
"""

from atoll.apiserver.cel import syntax
from atoll.apiserver.cel.faults import Issue, NotAnExpression
from atoll.apiserver.cel.lexing import Word, is_int, is_uint, words_of
from atoll.apiserver.cel.names import KEYWORDS, RESERVED
from atoll.apiserver.cel.values import UInt

_TESTS = ("all", "exists", "exists_one", "existsOne")
_TRANSFORMS = ("transformList", "transformMap", "transformMapEntry")
# By name and number of arguments: whether the macro has two variables, a test, and a result.
_FOLDS: dict[tuple[str, int], tuple[bool, bool, bool]] = {
    **{(name, 2): (False, True, False) for name in (*_TESTS, "filter")},
    **{(name, 3): (True, True, False) for name in _TESTS},
    ("map", 2): (False, False, True),
    ("map", 3): (False, True, True),
    ("sortBy", 2): (False, False, True),
    **{(name, 3): (True, False, True) for name in _TRANSFORMS},
    **{(name, 4): (True, True, True) for name in _TRANSFORMS},
}


class NotAMacro(Exception):
    """A macro that is called as none can be; the message is Kubernetes'."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at


def read_macro(
    at: int, name: str, target: syntax.Node | None, args: tuple[syntax.Node, ...]
) -> syntax.Node | None:
    """The macro that a call stands for; None if it is a plain call."""
    if target is None:
        return _has(at, args) if name == "has" and len(args) == 1 else None
    if name in ("optMap", "optFlatMap") and len(args) == 2:
        why = f"{name}() variable name must be a simple identifier"
        return syntax.WithValue(at, target, _variable(args[0], why), args[1], name == "optFlatMap")
    shape = _FOLDS.get((name, len(args)))
    if shape is None:
        return None
    two, tests, results = shape
    plain = two or name in ("all", "exists", "existsOne")
    why = "argument must be a simple name" if plain else "argument is not an identifier"
    names = [_variable(argument, why) for argument in args[: 1 + two]]
    if two and names[0] == names[1]:
        raise NotAMacro(args[1].at, f"duplicate variable name: {names[1]}")
    rest = list(args[1 + two :])
    test = rest.pop(0) if tests else None
    result = rest.pop(0) if results else None
    return syntax.Fold(at, name, target, names[0], names[1] if two else "", test, result)


def _has(at: int, args: tuple[syntax.Node, ...]) -> syntax.Node:
    operand = args[0]
    if not isinstance(operand, syntax.Select) or operand.test:
        raise NotAMacro(operand.at, "invalid argument to has() macro")
    return syntax.Select(at, operand.operand, operand.field, operand.optional, test=True)


def _variable(node: syntax.Node, why: str) -> str:
    if not isinstance(node, syntax.Ident):
        raise NotAMacro(node.at, why)
    return node.name


_SIZE_MAX = 100_000
# Deep enough for any rule a person writes, and shallow enough for everything that follows.
_DEPTH_MAX = 60
# How tightly signs bind.
_OR, _AND, _RELATION, _SUM, _PRODUCT = 1, 2, 3, 4, 5
_LEVELS = {
    "||": _OR,
    "&&": _AND,
    **dict.fromkeys(["+", "-"], _SUM),
    **dict.fromkeys(["*", "/", "%"], _PRODUCT),
    **dict.fromkeys(["<", "<=", ">=", ">", "==", "!=", "in"], _RELATION),
}
_OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING,"
    " BYTES, IDENTIFIER}"
)
_BEHIND_OPERAND = (
    "'==', '!=', 'in', '<', '<=', '>=', '>', '&&', '||', '[', '.', '-', '?', '+', '*', '/', '%'"
)


def parse(source: str) -> syntax.Node:
    """The parts of an expression."""
    if len(source) > _SIZE_MAX:
        why = f"expression code point size exceeds limit: size: {len(source)}, limit {_SIZE_MAX}"
        raise NotAnExpression(source, [Issue(-1, why)])
    node = _Parser(source).whole()
    _check_depth(source, node)
    return node


def _too_deep(source: str) -> NotAnExpression:
    return NotAnExpression(
        source, [Issue(-1, f"expression recursion limit exceeded: {_DEPTH_MAX}")]
    )


def _check_depth(source: str, root: syntax.Node) -> None:
    """Long chains of signs nest too, without any bracket."""
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > 2 * _DEPTH_MAX:
            raise _too_deep(source)
        level = [child for node in level for child in syntax.children(node)]


class _Parser:
    """Reads words from left to right; every method leaves `_next` behind what it has read."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._issues: list[Issue] = []
        self._words = words_of(source, self._issues)
        self._index = 0
        self._depth = 0

    @property
    def _next(self) -> Word:
        return self._words[self._index]

    def _take(self) -> Word:
        word = self._words[self._index]
        self._index += 1
        return word

    def _taken(self, kind: str) -> Word | None:
        return self._take() if self._next.kind == kind else None

    def _fault(self, word: Word, message: str) -> NotAnExpression:
        return NotAnExpression(self._source, [*self._issues, Issue(word.at, message)])

    def _unexpected(self, expected: str, word: Word | None = None) -> NotAnExpression:
        found = word or self._next
        # One word too many before the end is called so; anything else is another word.
        last = self._words[-2:-1] == [found]
        sort = "extraneous" if expected == "<EOF>" and last else "mismatched"
        sentence = f"Syntax error: {sort} input '{found.text}' expecting {expected}"
        return self._fault(found, sentence)

    def _expect(self, kind: str) -> Word:
        word = self._taken(kind)
        if word is None and self._next.kind == "end":
            raise self._fault(self._next, f"Syntax error: missing '{kind}' at '<EOF>'")
        if word is None:
            raise self._unexpected(f"{{{_BEHIND_OPERAND}, '{kind}'}}")
        return word

    def whole(self) -> syntax.Node:
        node = self._expression()
        if self._next.kind != "end":
            raise self._unexpected("<EOF>")
        if self._issues:
            raise NotAnExpression(self._source, self._issues)
        return node

    def _expression(self) -> syntax.Node:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise _too_deep(self._source)
        node = self._operators(_OR)
        question = self._taken("?")
        if question is not None:
            then = self._operators(_OR)
            self._expect(":")
            otherwise = self._expression()
            node = syntax.Call(question.at, "_?_:_", None, (node, then, otherwise))
        self._depth -= 1
        return node

    def _operators(self, lowest: int) -> syntax.Node:
        """Operands with signs between them that bind at least as tightly as this."""
        left = self._unary()
        while True:
            sign = self._next
            level = _LEVELS.get(sign.text, 0) if sign.kind not in ("string", "bytes") else 0
            if level < lowest:
                return left
            if level <= _AND:
                left = self._junction(left, sign, level)
                continue
            self._take()
            name = "@in" if sign.text == "in" else f"_{sign.text}_"
            left = syntax.Call(sign.at, name, None, (left, self._operators(level + 1)))

    def _junction(self, left: syntax.Node, sign: Word, level: int) -> syntax.Node:
        parts = [left]
        while self._taken(sign.kind) is not None:
            parts.append(self._operators(level + 1))
        return syntax.Junction(sign.at, level == _AND, tuple(parts))

    def _unary(self) -> syntax.Node:
        sign = self._next
        if sign.kind not in ("!", "-"):
            return self._member()
        count = 0
        while self._taken(sign.kind) is not None:
            count += 1
        number = self._next
        if sign.kind == "-" and count % 2 and number.kind in ("int", "float"):
            # The sign belongs to the literal: the smallest integer has no positive counterpart.
            self._take()
            return self._member(self._number(number, sign.at, -1))
        operand = self._member()
        if count % 2 == 0:
            return operand
        return syntax.Call(sign.at, "!_" if sign.kind == "!" else "-_", None, (operand,))

    def _member(self, start: syntax.Node | None = None) -> syntax.Node:
        node = self._primary() if start is None else start
        while True:
            word = self._next
            if word.kind == ".":
                node = self._selection(node)
            elif word.kind == "[":
                node = self._index_of(node)
            else:
                return node

    def _selection(self, operand: syntax.Node) -> syntax.Node:
        dot = self._take()
        optional = self._taken("?") is not None
        field = self._taken("name") or self._taken("escaped")
        if field is None or field.text in KEYWORDS:
            raise self._no_name(field)
        if field.kind == "escaped":
            raise self._fault(field, "unsupported syntax: '`'")
        if optional or self._next.kind != "(":
            return syntax.Select(dot.at, operand, field.text, optional)
        bracket = self._take()
        return self._called(bracket.at, field, operand, self._arguments())

    def _no_name(self, word: Word | None) -> NotAnExpression:
        found = self._next if word is None else word
        sentence = f"Syntax error: no viable alternative at input '.{found.text}'"
        if found.kind == "end":
            sentence = "Syntax error: no viable alternative at input '.'"
        return self._fault(found, sentence)

    def _index_of(self, operand: syntax.Node) -> syntax.Node:
        bracket = self._take()
        name = "_[?_]" if self._taken("?") else "_[_]"
        index = self._expression()
        self._expect("]")
        return syntax.Call(bracket.at, name, None, (operand, index))

    def _arguments(self) -> tuple[syntax.Node, ...]:
        arguments: list[syntax.Node] = []
        if self._taken(")"):
            return ()
        while True:
            arguments.append(self._expression())
            if self._taken(",") is None:
                self._expect(")")
                return tuple(arguments)

    def _called(
        self, at: int, name: Word, target: syntax.Node | None, args: tuple[syntax.Node, ...]
    ) -> syntax.Node:
        try:
            macro = read_macro(at, name.text, target, args)
        except NotAMacro as fault:
            raise NotAnExpression(self._source, [Issue(fault.at, str(fault))]) from None
        return syntax.Call(at, name.text, target, args) if macro is None else macro

    def _primary(self) -> syntax.Node:
        word = self._take()
        match word.kind:
            case "int" | "uint" | "float":
                return self._number(word, word.at, 1)
            case "string" | "bytes":
                return syntax.Literal(word.at, word.value, word.kind)
            case "(":
                node = self._expression()
                self._expect(")")
                return node
            case "[":
                return self._list(word)
            case "{":
                return syntax.MapOf(word.at, self._entries(fields=False))
            case "name":
                return self._named(word)
            case "." if self._next.kind == "name":
                return self._named(self._take())
        raise self._unexpected(_OPERAND, word)

    def _number(self, word: Word, at: int, sign: int) -> syntax.Node:
        if word.kind == "float":
            return syntax.Literal(at, sign * word.value, "double")
        if word.kind == "uint":
            if not is_uint(word.value):
                raise self._fault(word, "invalid uint literal")
            return syntax.Literal(at, UInt(word.value), "uint")
        if not is_int(sign * word.value):
            raise self._fault(word, "invalid int literal")
        return syntax.Literal(at, sign * word.value, "int")

    def _named(self, word: Word) -> syntax.Node:
        if word.text in ("true", "false"):
            return syntax.Literal(word.at, word.text == "true", "bool")
        if word.text == "null":
            return syntax.Literal(word.at, None, "null_type")
        if word.text == "in":
            raise self._unexpected(_OPERAND, word)
        if word.text in RESERVED:
            raise self._fault(word, f"reserved identifier: {word.text}")
        if self._next.kind == "(":
            bracket = self._take()
            return self._called(bracket.at, word, None, self._arguments())
        return self._made(word) or syntax.Ident(word.at, word.text)

    def _made(self, first: Word) -> syntax.Node | None:
        """`a.b.C{…}`, if that is what stands here."""
        index, names = self._index, [first.text]
        while self._words[index].kind == "." and self._words[index + 1].kind == "name":
            names.append(self._words[index + 1].text)
            index += 2
        if self._words[index].kind != "{":
            return None
        self._index = index + 1
        return syntax.Made(self._words[index].at, ".".join(names), self._entries(fields=True))

    def _list(self, bracket: Word) -> syntax.Node:
        items: list[tuple[syntax.Node, bool]] = []
        while self._taken("]") is None:
            optional = self._taken("?") is not None
            items.append((self._expression(), optional))
            if self._taken(",") is None:
                self._expect("]")
                break
        return syntax.ListOf(bracket.at, tuple(items))

    def _entries(self, *, fields: bool) -> tuple[syntax.Entry, ...]:
        entries: list[syntax.Entry] = []
        while self._taken("}") is None:
            optional = self._taken("?") is not None
            key = self._field_name() if fields else self._expression()
            colon = self._expect(":")
            entries.append(syntax.Entry(colon.at, key, self._expression(), optional))
            if self._taken(",") is None:
                self._expect("}")
                break
        return tuple(entries)

    def _field_name(self) -> syntax.Node:
        word = self._taken("name") or self._taken("escaped")
        if word is None:
            raise self._unexpected("{IDENTIFIER, ESC_IDENTIFIER}")
        return syntax.Literal(word.at, word.value or word.text, "string")
