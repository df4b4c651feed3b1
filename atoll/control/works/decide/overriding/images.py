"""Names of container images, and what an image overrider makes of one.

`registry.example:5000/team/app:1.2` is a registry, a repository and a tag; in place of a tag stands
a digest after an `@`. As in Karmada, of a tag and a digest together only the tag is kept.
"""

import re
from dataclasses import dataclass, replace

from atoll.dialects.patches import ADD, OPERATORS, REMOVE, operator
from atoll.dialects.wire import at, text
from atoll.errors import Invalid
from atoll.wire import Object

REGISTRY, REPOSITORY, TAG = "Registry", "Repository", "Tag"

_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_TAG = r"\w[\w.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_IMAGE = re.compile(
    rf"((?:{_HOST}/)?{_PART}(?:/{_PART})*)(?::({_TAG}))?(?:@({_DIGEST}))?", flags=re.ASCII
)
_IS_TAG = re.compile(_TAG, flags=re.ASCII)
_IS_DIGEST = re.compile(_DIGEST, flags=re.ASCII)
_DIGITS = {"sha256": 64, "sha384": 96, "sha512": 128}
_NAME_MAX = 255


@dataclass(frozen=True, slots=True)
class Image:
    """An image by its parts."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    def __str__(self) -> str:
        name = f"{self.registry}/{self.repository}" if self.registry else self.repository
        if self.tag:
            return f"{name}:{self.tag}"
        return f"{name}@{self.digest}" if self.digest else name


def parsed(written: str) -> Image | None:
    """The parts of an image's name; None if it is none."""
    match = _IMAGE.fullmatch(written)
    if match is None or len(match[1]) > _NAME_MAX:
        return None
    digest = match[3] or ""
    algorithm, _, digits = digest.partition(":")
    if digest and len(digits) != _DIGITS.get(algorithm):
        return None
    first, slash, rest = match[1].partition("/")
    has_registry = slash and (first == "localhost" or "." in first or ":" in first)
    registry, repository = (first, rest) if has_registry else ("", match[1])
    tag = match[2] or ""
    return Image(registry, repository, tag, "" if tag else digest)


def overridden(written: str, overrider: Object, path: str) -> str:
    """The image that one overrider makes of another; Invalid if that cannot be read."""
    image = parsed(written)
    if image is None:
        raise Invalid(path, written, "is no name of an image, so no part of it can be changed")
    wanted = operator(overrider, path, OPERATORS)
    value = text(overrider, "value", path)
    match component := text(overrider, "component", path):
        case "Registry":
            return str(replace(image, registry=_changed(image.registry, wanted, value)))
        case "Repository":
            return str(replace(image, repository=_changed(image.repository, wanted, value)))
        case "Tag":
            return str(_tagged(image, _changed(image.tag or image.digest, wanted, value)))
        case _:
            known = ", ".join((REGISTRY, REPOSITORY, TAG))
            raise Invalid(at(path, "component"), component, f"must be one of {known}")


def _changed(was: str, wanted: str, value: str) -> str:
    if wanted == REMOVE:
        return ""
    return was + value if wanted == ADD else value


def _tagged(image: Image, value: str) -> Image:
    """With this tag or digest; what is neither changes nothing, as in Karmada."""
    if not value or _IS_TAG.fullmatch(value):
        return replace(image, tag=value, digest="")
    return replace(image, tag="", digest=value) if _IS_DIGEST.fullmatch(value) else image
