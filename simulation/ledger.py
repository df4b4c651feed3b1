"""What clients of a store were told, held against what the store has.

Acknowledgements, refusals and readings come in; the first contradiction is an AssertionError. Each
name counts up by one per write, so the count alone tells whether a write was lost, doubled or shown
before it was durable.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from atoll.errors import NotDurable, StoreError


@dataclass
class Ledger:
    """Counts by name: what is certain, what may or may not have happened, what was read."""

    certain: Counter[str] = field(default_factory=Counter)
    uncertain: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    written: int = 0

    @contextmanager
    def write(self, name: str) -> Iterator[None]:
        """Book one write; if its outcome is never told, it stays uncertain."""
        self.uncertain[name] += 1
        try:
            yield
        except NotDurable:
            # The one failure that says for sure that nothing was stored.
            self.uncertain[name] -= 1
            self.refused += 1
        except StoreError:
            pass
        else:
            self.uncertain[name] -= 1
            self.certain[name] += 1
            self.written += 1

    def read(self, name: str, count: int) -> None:
        """Book a reading: it must have all that is certain, and may not be taken back later."""
        assert count >= self.certain[name], f"{name}: read {count} of {self.certain[name]} certain"
        self._check_possible(name, count)
        self.seen[name] = max(self.seen[name], count)

    def settle(self, counts: Mapping[str, int]) -> None:
        """Hold the books against the store when it is opened again; what it says is now certain."""
        for name in sorted(self.certain.keys() | self.uncertain.keys() | counts.keys()):
            count = counts.get(name, 0)
            least = max(self.certain[name], self.seen[name])
            assert count >= least, f"{name}: {least} were acknowledged or read, {count} are there"
            self._check_possible(name, count)
            self.certain[name], self.uncertain[name] = count, 0

    def _check_possible(self, name: str, count: int) -> None:
        most = self.certain[name] + self.uncertain[name]
        assert count <= most, f"{name}: {count} are there, at most {most} were written"
