"""How far the pods of one workload are: each is ready some time after it was given room.

What was, how many may run now and the time come in; what is goes out. Pods of an older template
serve until those that replace them are ready. Times are those of the event loop, in seconds.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Batch:
    """So many pods, ready from this moment on."""

    ready_at: float
    count: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The pods of the newest template, oldest first, and how many older ones were ready."""

    template: str
    batches: tuple[Batch, ...] = ()
    before: int = 0

    @property
    def count(self) -> int:
        return sum(batch.count for batch in self.batches)

    def ready(self, now: float) -> int:
        """How many of the newest template are ready."""
        return sum(batch.count for batch in self.batches if batch.ready_at <= now)

    def older(self, now: float) -> int:
        """How many of an older template still serve: those not yet replaced."""
        return max(0, min(self.before, self.count - self.ready(now)))

    def next_at(self, now: float) -> float | None:
        """When the next of them will be ready."""
        return min((one.ready_at for one in self.batches if one.ready_at > now), default=None)


def advanced(old: Progress, target: Progress, now: float, *, rolling: bool = True) -> Progress:
    """The pods now that the target's may run: those that are there stay, new ones start.

    The target is one batch: its template, how many, and when one that starts now will be ready.
    Without `rolling`, pods of an older template go before those of the new one come.
    """
    if target.template != old.template:
        serving = old.ready(now) + old.older(now)
        old = Progress(target.template, before=serving if rolling else 0)
    more = target.count - old.count
    if more > 0:
        started = Batch(target.batches[0].ready_at, more)
        return replace(old, batches=(*old.batches, started))
    return replace(old, batches=_fewer(old.batches, -more)) if more else old


def _fewer(batches: tuple[Batch, ...], less: int) -> tuple[Batch, ...]:
    """Without this many, the youngest going first."""
    kept = list(batches)
    while less > 0:
        last = kept.pop()
        if last.count > less:
            kept.append(Batch(last.ready_at, last.count - less))
        less -= last.count
    return tuple(kept)
