"""Protobuf bodies for tests: those that were recorded, and the few bytes it takes to make one."""

import base64
import json
from pathlib import Path
from typing import Any

from atoll.apiserver.kinds.builtin import builtin_resources
from atoll.apiserver.resource import Resource
from atoll.apiserver.schemas.facts import load

PROTOBUF = "application/vnd.kubernetes.protobuf"
RECORDED = Path(__file__).with_name("recorded")
RESOURCES = {(r.api_version, r.kind): r for r in builtin_resources(load())}


def recorded(name: str, section: str) -> dict[str, tuple[dict[str, Any], bytes]]:
    """What was sent, as JSON says it and as protobuf."""
    read = json.loads((RECORDED / name).read_bytes())[section]
    return {key: (one["object"], base64.b64decode(one["body"])) for key, one in read.items()}


def resource(kind: str, api_version: str = "v1") -> Resource:
    return RESOURCES[api_version, kind]


def varint(number: int) -> bytes:
    encoded = b""
    while number > 0x7F:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])


def field(number: int, content: bytes | int) -> bytes:
    """A field: a number as varint, anything else with its length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def body(kind: str, raw: bytes, api_version: str = "v1") -> bytes:
    said = field(1, api_version.encode()) + field(2, kind.encode())
    return b"k8s\0" + field(1, said) + field(2, raw)


def named(name: str) -> bytes:
    """The metadata with this name, as the first field of every object."""
    return field(1, field(1, name.encode()))


def without_nulls(value: Any) -> Any:
    """Fields that are null say nothing, and protobuf has none; items of lists stay."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value
