"""Which price of each cluster counts at this moment, and what becomes of those that do not.

ClusterPrices and the prices in Clusters' annotations come in, with the moment; a price per cluster
goes out, and for each ClusterPrice whether it is in force or why not, for its condition. A price
that does not count is not known, which is never zero. Of several for one cluster the one that
began last counts. Prices are compared, so all are in one currency: the one that most are in.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from atoll.dialects.karmada.objects.encoding import patched
from atoll.dialects.kubernetes.conditions import Condition, stated
from atoll.errors import Invalid
from atoll.model.action import NOTHING, Plan, Update
from atoll.model.price import ClusterPrice, Price, Quote

IN_FORCE = "InForce"


class Reason(StrEnum):
    """Why a price counts, or does not."""

    IN_FORCE = "InForce"
    NOT_YET_VALID = "NotYetValid"
    EXPIRED = "Expired"
    SUPERSEDED = "Superseded"
    OTHER_CURRENCY = "OtherCurrency"
    UNREADABLE = "Unreadable"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is found of one ClusterPrice."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Pricing:
    """Prices at one moment.

    `by_cluster` has only clusters that something is said of; None: but nothing that counts.
    `until`: when the next price begins or ends; None if none does.
    """

    by_cluster: Mapping[str, Price | None] = field(default_factory=dict)
    findings: Mapping[str, Finding] = field(default_factory=dict)
    until: float | None = None


def pricing(said: Mapping[str, Quote | Invalid], own: Mapping[str, Price], now: float) -> Pricing:
    """The prices that count: of ClusterPrices by name, and of annotations by cluster."""
    quotes = {name: each for name, each in said.items() if isinstance(each, Quote)}
    findings = {
        name: Finding(Reason.UNREADABLE, str(each))
        for name, each in said.items()
        if isinstance(each, Invalid)
    }
    priced = {quote.cluster for quote in quotes.values()}
    chosen = _chosen(quotes, now, findings)
    prices = {cluster: price for cluster, price in own.items() if cluster not in priced}
    prices |= {cluster: quotes[name].price for cluster, name in chosen.items()}
    common = _common(prices)
    for cluster, name in chosen.items():
        findings[name] = _in_currency(cluster, quotes[name].price, common)
    known = {
        cluster: price if price.currency in ("", common) else None
        for cluster, price in prices.items()
    }
    return Pricing(dict.fromkeys(priced) | known, findings, _next(quotes, now))


def _chosen(
    quotes: Mapping[str, Quote], now: float, findings: dict[str, Finding]
) -> Mapping[str, str]:
    """By cluster, the name of the quote that is valid and began last; the others are found."""
    chosen = dict[str, str]()
    for name, quote in sorted(quotes.items(), key=_latest_first):
        if quote.since is not None and now < quote.since:
            findings[name] = Finding(Reason.NOT_YET_VALID, "it is valid from spec.validFrom on")
        elif quote.until is not None and quote.until <= now:
            findings[name] = Finding(Reason.EXPIRED, "it was valid until spec.validUntil")
        elif quote.cluster in chosen:
            other = f"ClusterPrice {chosen[quote.cluster]} is about cluster {quote.cluster} too"
            findings[name] = Finding(Reason.SUPERSEDED, f"{other}, and comes first")
        else:
            chosen[quote.cluster] = name
    return chosen


def _latest_first(named: tuple[str, Quote]) -> tuple[float, str]:
    name, quote = named
    return -quote.since if quote.since is not None else inf, name


def _common(prices: Mapping[str, Price]) -> str:
    """The currency that most prices are in; of equally many the first by name."""
    counts = Counter(each.currency for each in prices.values() if each.currency)
    return min(counts, key=lambda each: (-counts[each], each), default="")


def _in_currency(cluster: str, price: Price, common: str) -> Finding:
    if price.currency == common:
        return Finding(Reason.IN_FORCE, f"decisions go by it for cluster {cluster}")
    problem = f"it is in {price.currency}, and most others are in {common}, so they cannot be"
    return Finding(Reason.OTHER_CURRENCY, f"{problem} compared; the price counts as not known")


def _next(quotes: Mapping[str, Quote], now: float) -> float | None:
    def moments() -> Iterator[float]:
        for quote in quotes.values():
            yield from (each for each in (quote.since, quote.until) if each is not None)

    return min((each for each in moments() if each > now), default=None)


@dataclass(frozen=True, slots=True)
class SeenPrice:
    """A ClusterPrice, and what is found of it."""

    price: ClusterPrice
    finding: Finding


def plan(seen: SeenPrice, now: float) -> Plan:
    """Say on a ClusterPrice whether it counts."""
    finding, known = seen.finding, seen.price.conditions
    holds = finding.reason is Reason.IN_FORCE
    conditions = stated(known, Condition(IN_FORCE, holds, finding.reason, finding.message), now)
    if tuple(conditions) == known:
        return NOTHING
    told = patched(seen.price.wire, {"status": {"conditions": conditions}})
    return Plan((Update(told, "status"),))
