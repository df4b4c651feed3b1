"""Values to bytes: the JSON and YAML that clients get.

Numbers are written as Go writes them where it matters: a whole number has no fraction, because
typed clients refuse to read 1.0 into an integer. Strings that YAML would take for something else
are quoted.
"""

import re
from typing import Any

import orjson
import yaml

from atoll.apiserver.bodies.yaml_text import plain_scalar
from atoll.apiserver.schemas.json_values import settle_numbers

_whole_float = re.compile(rb"[0-9](?:\.0|e\+?[0-9]+)(?:[,}\]]|$)")


# Line breaks that YAML would fold, the mark, and what other readers would take for a time.
_quoted = re.compile("[\x85\u2028\u2029\ufeff]|^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")


def encode_json(value: Any) -> bytes:
    """The value as compact JSON."""
    try:
        text = orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits, which Go has as a float
        return orjson.dumps(settle_numbers(value))
    if _whole_float.search(text) is not None:
        return orjson.dumps(settle_numbers(value))
    return text


class _Dumper(yaml.CSafeDumper):
    """Writes plain YAML without anchors, quoting what Kubernetes would not read as a string."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_string(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if not isinstance(plain_scalar(text), str) or text in ("<<", "=") or _quoted.search(text):
        style = '"'
    elif "\n" in text:
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_string)


def encode_yaml(value: Any) -> bytes:
    """The value as YAML, keys sorted."""
    text: bytes = yaml.dump(
        settle_numbers(value),
        Dumper=_Dumper,
        encoding="utf-8",
        allow_unicode=True,
        default_flow_style=False,
        width=2**31 - 1,
    )
    return text
