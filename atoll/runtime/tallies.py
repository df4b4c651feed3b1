"""What became of the keys of worklists, under the names that Kubernetes' own work queues have."""

from collections.abc import Iterator

from atoll.instruments.counting import Counter, Histogram, doubling
from atoll.instruments.families import Family

_BUCKETS = doubling(1e-8, 12, 10.0)


class Tallies:
    """Counts for all lists that share turns, by the name of the list."""

    def __init__(self) -> None:
        self.adds = Counter("workqueue_adds_total", "Keys that came to wait, by worklist.", "name")
        self.retries = Counter(
            "workqueue_retries_total", "Keys that failed and come again, by worklist.", "name"
        )
        self.waited = Histogram(
            "workqueue_queue_duration_seconds",
            "How long keys waited, by worklist.",
            _BUCKETS,
            "name",
        )
        self.worked = Histogram(
            "workqueue_work_duration_seconds",
            "How long keys were worked on, by worklist.",
            _BUCKETS,
            "name",
        )

    def families(self) -> Iterator[Family]:
        for each in (self.adds, self.retries, self.waited, self.worked):
            yield each.family()
