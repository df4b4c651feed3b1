"""Which kinds a server has, and which of them a user means by a word such as `deploy`.

Discovery comes in, in one or two requests; resources go out, found by plural, singular, kind, short
name or category, with or without version and group. Which objects there are is not known here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from atoll.cli.failing import USAGE, CommandFailed
from atoll.client.collection import AGGREGATED, Collection
from atoll.client.plain import PlainClient


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind as a server has it."""

    collection: Collection
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    verbs: frozenset[str]

    @property
    def group(self) -> str:
        group, slash, _ = self.collection.api_version.rpartition("/")
        return group if slash else ""

    @property
    def title(self) -> str:
        """How an object of it is called before its name: deployment.apps."""
        return f"{self.singular}.{self.group}" if self.group else self.singular

    @property
    def plural_title(self) -> str:
        plural = self.collection.plural
        return f"{plural}.{self.group}" if self.group else plural

    def is_called(self, word: str) -> bool:
        """Whether a word, with or without version and group, means this kind."""
        name, _, rest = word.partition(".")
        names = (self.collection.plural, self.singular, *self.short_names)
        if name not in names and name != self.collection.kind.lower():
            return False
        version = self.collection.api_version.rpartition("/")[2]
        return rest in ("", self.group, version, f"{version}.{self.group}")


class Kinds:
    """What a server serves, in its own order of preference."""

    def __init__(self, resources: Iterator[Resource]) -> None:
        self._resources = tuple(resources)

    @classmethod
    def of(cls, client: PlainClient) -> "Kinds":
        return cls(
            resource
            for root in ("/api", "/apis")
            for group in client.request("GET", root, headers={"accept": AGGREGATED})
            .json()
            .get("items", ())
            for resource in _of_group(group)
        )

    def all(self) -> tuple[Resource, ...]:
        return self._resources

    def find(self, word: str) -> Resource:
        """The kind that is meant by a word; CommandFailed with those nearest if there is none."""
        asked = word.lower()
        for resource in self._resources:
            if resource.is_called(asked):
                return resource
        raise self._unknown(word)

    def find_all(self, word: str) -> list[Resource]:
        """The kinds meant by a word that may be the name of a category, such as `all`."""
        return [each for each in self._resources if word in each.categories] or [self.find(word)]

    def _unknown(self, word: str) -> CommandFailed:
        names = {each.collection.plural for each in self._resources}
        names |= {each.singular for each in self._resources}
        near = get_close_matches(word.lower().partition(".")[0], sorted(names), n=1)
        attempt = f"atoll get {near[0]}" if near else "kubectl api-resources"
        why = f'did you mean "{near[0]}"?' if near else ""
        return CommandFailed(f'there is no kind "{word}"', why, attempt, code=USAGE)


def _of_group(group: Mapping[str, Any]) -> Iterator[Resource]:
    """The kinds of a group; of one that several versions have, the first is the preferred."""
    seen = set[str]()
    name = group.get("metadata", {}).get("name", "")
    for version in group.get("versions") or ():
        api_version = f"{name}/{version['version']}" if name else version["version"]
        for each in version.get("resources") or ():
            plural, kind = each["resource"], each.get("responseKind", {}).get("kind", "")
            if plural in seen or not kind:
                continue
            seen.add(plural)
            yield Resource(
                Collection(api_version, kind, plural, each.get("scope") == "Namespaced"),
                each.get("singularResource") or kind.lower(),
                tuple(each.get("shortNames") or ()),
                tuple(each.get("categories") or ()),
                frozenset(each.get("verbs") or ()),
            )
