"""Which price of a cluster counts, and what the others are told."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.control.prices.decide import Pricing, SeenPrice, plan
from atoll.control.prices.decide import pricing as pricing_of
from atoll.dialects.prices import decode
from atoll.model.action import NOTHING, Update
from atoll.model.price import NANO, Price

NOW = 1_800_000_000.0
BEFORE, AFTER = "2026-01-01T00:00:00Z", "2028-01-01T00:00:00Z"


def price(cluster: str = "a", cpu: str = "1", **spec: Any) -> dict[str, Any]:
    own = {"cluster": cluster, "currency": "EUR", "perCPUHour": cpu, **spec}
    return {"metadata": {"name": "p"}, "spec": own}


def pricing(objects: dict[str, Any], own: Mapping[str, Price], now: float) -> Pricing:
    return pricing_of({name: decode(wire).said for name, wire in objects.items()}, own, now)


def cpu_of(objects: dict[str, Any], cluster: str = "a", **own: Price) -> int | None:
    found = pricing(objects, own, NOW).by_cluster.get(cluster)
    return None if found is None else found.cpu


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        pytest.param({}, "InForce", id="always"),
        pytest.param({"validFrom": BEFORE, "validUntil": AFTER}, "InForce", id="now"),
        pytest.param({"validFrom": AFTER}, "NotYetValid", id="not-yet"),
        pytest.param({"validUntil": BEFORE}, "Expired", id="no-more"),
        pytest.param({"perCPUHour": "much"}, "Unreadable", id="unreadable"),
    ],
)
def test_a_price_that_does_not_count_is_not_known(spec: dict[str, Any], reason: str) -> None:
    found = pricing({"p": price(**spec)}, {}, NOW)
    assert found.findings["p"].reason == reason
    known = found.by_cluster.get("a")
    assert (known is not None) == (reason == "InForce")
    assert known is None or known == Price(cpu=NANO, currency="EUR")


def test_an_annotation_counts_where_no_object_is_about_the_cluster() -> None:
    own = {"a": Price(cpu=7), "b": Price(cpu=8)}
    assert cpu_of({}, **own) == 7
    assert cpu_of({"p": price("a")}, **own) == NANO
    assert cpu_of({"p": price("a", validUntil=BEFORE)}, **own) is None
    assert cpu_of({"p": price("a", validUntil=BEFORE)}, "b", **own) == 8


def test_of_several_the_one_that_began_last_counts() -> None:
    objects = {
        "always": price(cpu="1"),
        "older": price(cpu="2", validFrom="2025-01-01T00:00:00Z"),
        "newer": price(cpu="3", validFrom=BEFORE),
        "next": price(cpu="4", validFrom=AFTER),
    }
    assert cpu_of(objects) == 3 * NANO
    found = pricing(objects, {}, NOW)
    assert [str(found.findings[each].reason) for each in objects] == [
        *("Superseded", "Superseded", "InForce", "NotYetValid")
    ]
    assert "ClusterPrice newer" in found.findings["always"].message
    later = pricing(objects, {}, found.until or 0)
    assert later.by_cluster["a"] == Price(cpu=4 * NANO, currency="EUR")
    assert later.until is None


def test_what_is_in_another_currency_than_most_is_not_known_and_says_so() -> None:
    objects = {
        "a": price("a"),
        "b": price("b"),
        "c": price("c", currency="USD"),
    }
    own = {"d": Price(cpu=5), "e": Price(cpu=6, currency="USD"), "f": Price(cpu=7, currency="EUR")}
    found = pricing(objects, own, NOW)
    known = {name for name, each in found.by_cluster.items() if each is not None}
    assert known == {"a", "b", "d", "f"}  # one that names no currency is in that of the others
    assert found.findings["c"].reason == "OtherCurrency"
    assert "it is in USD, and most others are in EUR" in found.findings["c"].message


def test_the_finding_is_written_once() -> None:
    wire: Any = price()
    finding = pricing({"p": wire}, {}, NOW).findings["p"]
    (action,) = plan(SeenPrice(decode(wire), finding), NOW).actions
    assert isinstance(action, Update)
    assert action.subresource == "status"
    (condition,) = action.object["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("InForce", "True")
    assert plan(SeenPrice(decode(action.object), finding), NOW + 99) is NOTHING


SPANS = st.sampled_from([None, "2025-06-01T00:00:00Z", BEFORE, AFTER, "2029-01-01T00:00:00Z"])


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(["EUR", "USD"]), SPANS, SPANS), max_size=6
    )
)
def test_nothing_is_ever_free_and_nothing_changes_before_it_says(
    given_prices: list[tuple[str, str, str | None, str | None]],
) -> None:
    objects = {
        f"p{at}": price(cluster, currency=currency, validFrom=since, validUntil=until)
        for at, (cluster, currency, since, until) in enumerate(given_prices)
    }
    found = pricing(objects, {}, NOW)
    assert found.findings.keys() == objects.keys()
    assert all(each is None or each.cpu == NANO for each in found.by_cluster.values())
    assert len({each.currency for each in found.by_cluster.values() if each}) <= 1
    if found.until is not None:
        assert found.until > NOW
        assert pricing(objects, {}, (NOW + found.until) / 2) == found
    else:
        assert pricing(objects, {}, NOW * 2) == found
