"""Overriders of fields that hold a document as text, such as a file in a ConfigMap.

JSON is read and written here; how YAML is read and written is handed in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from atoll.dialects import json
from atoll.dialects.patches import REPLACE, Operation, Pointer, operation, patched, read
from atoll.dialects.wire import at, parts, text
from atoll.errors import Invalid
from atoll.wire import Object


@dataclass(frozen=True, slots=True)
class Texts:
    """YAML as text: what reads it raises Invalid for a text that is none."""

    read_yaml: Callable[[str], Any]
    write_yaml: Callable[[Any], str]


def field(manifest: Object, overrider: Object, path: str, texts: Texts) -> Object:
    """With the document inside a field changed, and written back."""
    pointer = Pointer(text(overrider, "fieldPath", path), at(path, "fieldPath"))
    written = read(manifest, pointer)
    if not isinstance(written, str):
        raise pointer.wrong("leads to something that is no text, so to no document")
    changed = _changed(written, overrider, pointer, path, texts)
    result: Object = patched(manifest, Operation(REPLACE, pointer, changed))
    return result


def _changed(written: str, overrider: Object, pointer: Pointer, path: str, texts: Texts) -> str:
    # As in Karmada, YAML goes first; that both are given is refused when the policy is written.
    for key, reads, writes in (
        ("yaml", texts.read_yaml, texts.write_yaml),
        ("json", _read_json, json.written),
    ):
        operations = [operation(each, at, "subPath") for at, each in parts(overrider, key, path)]
        if operations:
            document = _document(written, reads, pointer, key)
            for each in operations:
                document = patched(document, each)
            return writes(document)
    return written


def _document(written: str, reads: Callable[[str], Any], pointer: Pointer, key: str) -> Any:
    """What a text says; a refusal names its place alone, for it may be a Secret's."""
    try:
        return reads(written)
    except Invalid as error:
        raise pointer.wrong(f"leads to a text that is not {key.upper()}: {error.problem}") from None


def _read_json(written: str) -> Any:
    found = json.read(written)
    if found is None and written.strip() != "null":
        raise Invalid("", "", "it cannot be parsed")
    return found
