"""JSON merge patch (RFC 7386) as kube-apiserver applies it.

In: the document and the decoded patch. Out: the patched document, sharing what did not change. One
thing is not the RFC's: objects inside lists lose their nulls too, unless the list takes the place
of an object.
"""

from typing import Any

from atoll.apiserver.patching.wording import json_name, too_deep
from atoll.apiserver.status import bad_request


def apply_merge_patch(document: dict[str, Any], patch: Any) -> dict[str, Any]:
    """The document with the patch merged into it; 400 if the patch is not an object."""
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {json_name(patch)} "
            "into Go value of type map[string]interface {}"
        )
    try:
        return _merged(document, patch)
    except RecursionError:
        raise too_deep() from None


def _merged(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    result = dict(document)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
            continue
        current = result.get(key)
        if not isinstance(current, dict):
            result[key] = without_nulls(value)
        elif isinstance(value, dict):
            result[key] = _merged(current, value)
        else:
            result[key] = value
    return result


def without_nulls(value: Any) -> Any:
    """The value without null fields at any depth; null elements of lists stay."""
    if isinstance(value, dict):
        return {key: without_nulls(child) for key, child in value.items() if child is not None}
    if isinstance(value, list):
        return [without_nulls(child) for child in value]
    return value
