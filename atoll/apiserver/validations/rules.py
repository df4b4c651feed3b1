"""The CEL rules of a CRD's schema (x-kubernetes-validations), as they are once compiled.

A tree of what the parts of a schema ask for; `checks` walks it with an object.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atoll.wire import Wire

if TYPE_CHECKING:
    from atoll.apiserver.cel.compiling import Program

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One rule; without a program, `fault` says why it cannot be evaluated."""

    said: Wire
    program: "Program | None"
    fault: str = ""
    message: "Program | None" = None
    message_fault: str = ""
    path: str = ""  # below the value, of the field that is to be blamed

    @property
    def uses_old(self) -> bool:
        return self.program is not None and "oldSelf" in self.program.used

    @property
    def takes_missing_old(self) -> bool:
        return self.said.get("optionalOldSelf") is True

    def shown(self) -> str:
        """How messages name the rule."""
        text: str = (self.said.get("message") or "").strip() or self.said["rule"].strip()
        return text


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What is asked of one part of an object, and of the parts inside it."""

    schema: Wire
    rules: tuple[Rule, ...]
    convert: Convert | None
    items: "Part | None"
    rest: "Part | None"
    properties: Mapping[str, "Part"]

    @property
    def hides_value(self) -> bool:
        """Whether messages leave the value out, as they do with objects and lists."""
        return self.schema.get("type") in ("object", "array")
