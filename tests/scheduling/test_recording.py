"""Records: what is kept of a decision survives being written down, and damage is noticed."""

import gc
from base64 import b64decode
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from builders import bindings, clusters, make_binding, make_cluster
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_sample import decided

from atoll.errors import Invalid
from atoll.model.binding import Binding
from atoll.model.cluster import Cluster
from atoll.model.decision import Verdict
from atoll.model.intent import Available
from atoll.scheduling.cycle import decide
from atoll.scheduling.decision import Decision
from atoll.scheduling.explain import explain
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.framing import Reader, Writer, sealed, unsealed
from atoll.scheduling.question import Surroundings
from atoll.scheduling.recording import Record, record
from atoll.scheduling.stored import decode, encode
from atoll.scheduling.traits import Traits

MAGIC = b"atoll-x1"
RECORDED = (
    "YXRvbGwteDEg2D5fHwAAAAAAAAAAAAAABwAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAAAAAAABAAAAAAAAAAEA"
    "AAAAAAAAAQAAAAAAAAAAAAAAAAAAAAMAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAAAAAAADAAAA"
    "AAAAAAAAAAAAAAAAAQAAAAAAAAABAAAAAAAAAPv/////////AQAAAAAAAAAAAAAAAAAAAAEAAAAAAAAA/P//////"
    "//8DAAAAAAAAAAUAAAAAAAAA/P/////////7//////////7//////////f////////8BAAAAAAAAAAMAAAAAAAAA"
    "Qg0AAAAAAhAQEABkBAIBAgIBbwAAAAAAAAAAAAAABAAAAGdvbmUAAAAAAAAAAAgAAABFdmVyeW9uZREAAABBdmFp"
    "bGFibGVSZXBsaWNhcw8AAABDbHVzdGVyTG9jYWxpdHkOAAAAY2x1c3RlciByZXBvcnQNAAAAZnJlZSBjYXBhY2l0"
    "eaKOymgAAAAAMAMAAAABAAAAAAAAAAEAAAAAAAAADQAAAEFQSUVuYWJsZW1lbnQoAAAAY2x1c3RlcihzKSBkaWQg"
    "bm90IGhhdmUgdGhlIEFQSSByZXNvdXJjZTADAAAAAQAAAAAAAAAAAAAAAAAAAA8AAABUYWludFRvbGVyYXRpb24w"
    "AwAAAAAAAAAAAAAAAQAAAAAAAAAPAAAAQ2x1c3RlckFmZmluaXR5QgAAAGNsdXN0ZXIocykgZGlkIG5vdCBtYXRj"
    "aCB0aGUgcGxhY2VtZW50IGNsdXN0ZXIgYWZmaW5pdHkgY29uc3RyYWludDADAAAA"
)


def read_back(decision: Decision) -> Record:
    return decode(encode(record(decision)), decision.fleet.traits.names)


def told(kept: Record) -> list[Any]:
    """All that a record says, as plain values."""
    report = explain(kept)
    terms = [(term.clusters, term.weighings, term.sums, term.refusal) for term in report.terms]
    asked = (kept.replicas, kept.fresh, kept.descending, kept.lost)
    return [report.verdict, report.message, kept.term, report.targets, *asked, *terms]


@given(bindings(), clusters())
def test_what_is_read_is_what_was_written(binding: Binding, fleet: list[Cluster]) -> None:
    decision = decide(binding, Fleet.of(fleet))
    assert told(read_back(decision)) == told(record(decision))


def test_recorded_cases_survive_being_written_down() -> None:
    for case, decision in decided(every=7):
        kept = read_back(decision)
        assert told(kept) == told(record(decision)), case["id"]
        assert explain(kept).targets == decision.targets


def test_estimates_keep_who_gave_them() -> None:
    fleet = Fleet.of(make_cluster(name) for name in ("a", "b"))
    answers = {"nodes": {"a": 3}, "quota": {"a": 5, "b": 1}}
    binding = make_binding(3, wanting={"division": Available()})
    decision = decide(binding, fleet, surroundings=Surroundings(estimates=answers))
    first, second = explain(read_back(decision)).clusters
    assert dict(first.estimates) == {"cluster report": 16, "nodes": 3, "quota": 5}
    assert dict(second.estimates) == {"cluster report": 16, "nodes": None, "quota": 1}
    assert (first.room, second.room) == (3, 1)


def test_targets_whose_cluster_is_gone_are_kept_by_name() -> None:
    decision = decide(make_binding(2, on={"gone": 2}), Fleet.of([make_cluster("a")]))
    assert read_back(decision).lost == (("gone", 2),)


def test_names_beyond_unicode_are_kept() -> None:
    fleet = Fleet.of([make_cluster("a", taints=["strange\ud800=\N{SNOWMAN}:NoSchedule"])])
    decision = decide(make_binding(1), fleet)
    assert read_back(decision).message == decision.message


def test_a_record_holds_nothing_of_the_fleet_but_the_names() -> None:
    fleet = Fleet.of([make_cluster("a"), make_cluster("b", taints=["gpu:NoSchedule"])])
    reached, todo = set[int](), list[Any]([record(decide(make_binding(1), fleet))])
    while todo:
        found = todo.pop()
        if id(found) in reached or isinstance(found, type | ModuleType | FunctionType):
            continue
        assert not isinstance(found, Fleet | Traits | Cluster | Decision), found
        reached.add(id(found))
        todo += gc.get_referents(found)
    assert len(reached) > 10


@pytest.mark.parametrize("count", [50, 1000], ids=lambda count: f"{count} clusters")
def test_a_record_takes_a_few_bytes_per_cluster(count: int) -> None:
    fleet = Fleet.of(make_cluster(f"cluster-{number:04}") for number in range(count))
    binding = make_binding(count * 3, wanting={"division": Available()})
    assert len(encode(record(decide(binding, fleet)))) < 600 + 6 * count


@pytest.fixture(scope="module")
def written() -> tuple[bytes, np.ndarray[Any, Any]]:
    fleet = Fleet.of(make_cluster(name, region=name) for name in ("a", "b", "c"))
    binding = make_binding(7, on={"a": 2, "gone": 1}, wanting={"division": Available()})
    return encode(record(decide(binding, fleet))), fleet.traits.names


def test_other_clusters_are_told_apart(written: tuple[bytes, Any]) -> None:
    other = Fleet.of(make_cluster(name) for name in ("a", "b", "d")).traits.names
    with pytest.raises(Invalid, match="was written for other clusters"):
        decode(written[0], other)


def test_another_layout_is_told_apart(written: tuple[bytes, Any]) -> None:
    whole, names = written
    with pytest.raises(Invalid, match=r"begins with b'atoll-x2'; this version .* b'atoll-x1' only"):
        decode(b"atoll-x2" + whole[len(MAGIC) :], names)


def test_a_record_of_this_layout_can_be_read_for_ever(written: tuple[bytes, Any]) -> None:
    """Whoever changes the layout has to change the magic; then this record is of the old one."""
    known = b64decode(RECORDED)
    found = decode(known, written[1])
    assert (found.verdict, found.replicas) == (Verdict.SUCCESS, 7)
    assert encode(found) == known


@given(st.data())
def test_every_damage_is_noticed(written: tuple[bytes, Any], data: st.DataObject) -> None:
    whole, names = written
    at = data.draw(st.integers(0, len(whole) - 1))
    bit = data.draw(st.integers(0, 7))
    cut, flipped = whole[:at], whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :]
    for damaged in (cut, flipped, whole + b"\0"):
        with pytest.raises(Invalid, match="cannot be read"):
            decode(damaged, names)


def read_or_refused(data: bytes, names: Any) -> Record | Invalid:
    try:
        return decode(data, names)
    except Invalid as refused:
        return refused


@settings(max_examples=400)
@given(st.data())
def test_sealed_nonsense_is_refused_or_read_but_never_breaks(
    written: tuple[bytes, Any], data: st.DataObject
) -> None:
    whole, names = written
    body = bytearray(unsealed(MAGIC, whole))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at] = data.draw(st.integers(0, 255))
    del body[data.draw(st.integers(0, len(body))) or len(body) :]
    assert isinstance(read_or_refused(sealed(MAGIC, bytes(body)), names), Record | Invalid)


@given(st.binary(max_size=60))
def test_bytes_of_another_kind_are_refused(junk: bytes) -> None:
    with pytest.raises(Invalid):
        decode(junk, np.array([], object))
    with pytest.raises(Invalid):
        decode(sealed(MAGIC, junk), np.array(["a"], object))


def test_a_column_larger_than_the_bytes_and_the_fleet_is_never_made() -> None:
    huge = Writer().framed + b"0" + (2**32 - 1).to_bytes(4, "little")
    reader = Reader(huge, most=1000)
    with pytest.raises(Invalid, match="4294967295"):
        reader.packed()


COLUMNS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-1, 300), max_size=700)


@given(st.lists(COLUMNS, max_size=5), st.integers(0, 2**40))
def test_columns_of_any_numbers_come_back(columns: list[list[int]], number: int) -> None:
    writer, arrays = Writer(), [np.array(each, np.int64) for each in columns]
    for array in (*arrays, *arrays):
        writer.columns(array)
        writer.numbers.append(number)
    data = writer.framed
    reader = Reader(data, most=max(len(data), 700))
    for array in (*arrays, *arrays):
        assert reader.column().tolist() == array.tolist()
        assert reader.number() == number
    reader.end()
