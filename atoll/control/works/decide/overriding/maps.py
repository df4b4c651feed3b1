"""Overriders of labels and annotations: keys added, changed or taken away.

Only a key that is there is changed or taken away; one that is not is passed over.
"""

from collections.abc import Mapping
from functools import partial

from atoll.dialects.patches import ADD, OPERATORS, REMOVE, operator
from atoll.dialects.wire import part, text_by_name
from atoll.wire import Object


def _overridden(key: str, manifest: Object, overrider: Object, path: str) -> Object:
    wanted = operator(overrider, path, OPERATORS)
    value = text_by_name(overrider, "value", path)
    metadata = part(manifest, "metadata", "") or {}
    was = text_by_name(metadata, key, "metadata")
    now = _changed(was, wanted, value)
    return manifest if now == was else {**manifest, "metadata": {**metadata, key: now}}


def _changed(was: Mapping[str, str], wanted: str, value: Mapping[str, str]) -> Mapping[str, str]:
    if wanted == ADD:
        return {**was, **value}
    if wanted == REMOVE:
        return {name: each for name, each in was.items() if name not in value}
    return {name: value.get(name, each) for name, each in was.items()}


labels = partial(_overridden, "labels")
annotations = partial(_overridden, "annotations")
