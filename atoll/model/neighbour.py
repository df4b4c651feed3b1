"""Another binding, as far as workload affinity looks at it: its groups and where it runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A binding that work of the same namespace and group wants to be with, or apart from."""

    namespace: str
    name: str
    version: int = 0
    """Of two copies of one binding the one with the higher version is the newer."""
    affinity_group: str = ""
    anti_affinity_group: str = ""
    targets: frozenset[str] = frozenset()

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name
