"""Taints as people write them on a command line, and what they do to those a cluster has.

Words and a list of taints come in, another list goes out, with what to call the change. The rules,
and what is printed, are those of kubectl and karmadactl.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from atoll.errors import UsageError

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
Taint = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Changes:
    """Taints to add, and taints to remove; of the latter, those without an effect mean any."""

    added: tuple[Taint, ...]
    removed: tuple[Taint, ...]

    def apply(self, cluster: str, taints: Sequence[Taint], *, overwrites: bool) -> list[Taint]:
        """The taints that a cluster has then; UsageError if it cannot be meant."""
        there = [each["key"] for each in self.added if any(map(_like(each), taints))]
        if there and not overwrites:
            raise UsageError(
                f"cluster {cluster} already has {','.join(there)} taint(s) with same effect(s) "
                "and --overwrite is false"
            )
        result = [*self.added]
        result += [old for old in taints if not any(_like(new)(old) for new in self.added)]
        for each in self.removed:
            kept = [taint for taint in result if not _is_meant(each, taint)]
            if len(kept) == len(result):
                raise UsageError(f'cluster {cluster}: taint "{_text(each)}" not found')
            result = kept
        return result

    def called(self, *, overwrites: bool) -> str:
        """What has been done, in a word."""
        if overwrites or (self.added and self.removed):
            return "modified"
        return "tainted" if self.added else "untainted"


def read_changes(words: Sequence[str]) -> Changes:
    """What words like key=value:effect and key:effect- ask for."""
    added = [_read(word) for word in words if not word.endswith("-")]
    removed = [_read(word[:-1], is_removed=True) for word in words if word.endswith("-")]
    for position, one in enumerate(added):
        if any(map(_like(one), added[:position])):
            raise UsageError(f"{_text(one)}: there is a taint with this key and effect already")
    both = [each for each in removed if any(_is_meant(each, one) for one in added)]
    if both:
        told = ", ".join(map(_text, both))
        raise UsageError(f"a taint cannot be set and removed by the same command: {told}")
    return Changes(tuple(added), tuple(removed))


def _read(word: str, *, is_removed: bool = False) -> Taint:
    named, colon, effect = word.partition(":")
    key, equals, value = named.partition("=")
    if not key or ":" in effect or "=" in value or not (colon or is_removed):
        raise UsageError(
            f'"{word}" is no taint; write KEY=VALUE:EFFECT or KEY:EFFECT, with a - to remove it'
        )
    if effect not in EFFECTS and (effect or colon):
        raise UsageError(f'"{effect}" is no effect of a taint; there are {", ".join(EFFECTS)}')
    taint = {"key": key, **({"value": value} if equals and value else {})}
    return {**taint, **({"effect": effect} if effect else {})}


def _like(one: Taint) -> Any:
    return lambda other: (one["key"], one["effect"]) == (other["key"], other["effect"])


def _is_meant(wanted: Taint, taint: Taint) -> bool:
    return wanted["key"] == taint["key"] and wanted.get("effect") in (None, taint["effect"])


def _text(taint: Taint) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    effect = f":{taint['effect']}" if taint.get("effect") else ""
    return f"{taint['key']}{value}{effect}"
