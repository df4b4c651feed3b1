"""Case files: one JSON object per line, plain or compressed.

A path comes in, dicts go out. What a case contains is not known here, except that it has an id
and an input.
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).parent
CORPORA = (HERE / "cases.jsonl.gz", HERE / "cases-gates.jsonl.gz")

Case = dict[str, Any]


class Unreadable(Exception):
    """The file or one of its lines is not what it should be; the text is for the user."""


def read_cases(path: Path, *needed: str) -> Iterator[Case]:
    """The cases of a file, each with an id, an input and the other keys that are needed."""
    try:
        with _open(path) as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _case(line, f"{path}:{number}", ("id", "input", *needed))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as failure:
        reason = getattr(failure, "strerror", None) or failure
        raise Unreadable(f"cannot read {path}: {reason}") from failure


def _open(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def _case(line: str, where: str, needed: tuple[str, ...]) -> Case:
    try:
        case = json.loads(line)
    except ValueError as failure:
        raise Unreadable(f"{where}: not JSON: {failure}") from failure
    if not isinstance(case, dict):
        raise Unreadable(f"{where}: must be an object with {', '.join(needed)}")
    for key in needed:
        if key not in case:
            raise Unreadable(f"{where}: {key!r} is missing")
        if key != "id" and not isinstance(case[key], dict):
            raise Unreadable(f"{where}: {key!r} must be an object")
    return case
