"""The table and the JSON, from made-up samples; and reading what processes cost."""

import os

import pytest

from bench.load import Sample
from bench.processes import children, held, parse_stat, usage
from bench.report import Figure, Report, Row, as_json, as_table
from bench.servers import OURS, THEIRS
from bench.sizes import QUICK


def make_report(*, both: bool) -> Report:
    row = Row("gets", "get something")
    figure = Figure("start, empty", "s")
    for per_s in (100.0, 300.0, 200.0):
        row.note(OURS, Sample(per_s, 2 * per_s, 1.5, 12.25, 0.5))
        figure.note(OURS, 0.5)
        if both:
            row.note(THEIRS, Sample(per_s / 2, per_s / 2, 3.0, 1234.5, 0.95))
            figure.note(THEIRS, 5.0)
    return Report(QUICK, [row], [figure])


def test_the_table_shows_medians_and_ratios_of_both_servers():
    lines = as_table(make_report(both=True)).splitlines()
    assert lines[1].split() == ["get", "something", "atoll", "200", "400", "1.50", "12.2", "50%"]
    assert lines[2].split() == ["kubernetes", "100", "100", "3.00", "1,234", "95%", "!"]
    assert lines[3].split() == ["ratio", "2.00", "x", "4.00", "x"]
    assert lines[6].split() == ["start,", "empty", "0.50", "s", "5.00", "s", "10.00", "x"]


def test_without_another_server_there_is_nothing_to_compare():
    table = as_table(make_report(both=False))
    assert "ratio" not in table
    assert "kubernetes" not in table


def test_columns_end_in_line():
    head, first, *_ = as_table(make_report(both=True)).splitlines()
    assert head.index("per CPU second") + len("per CPU second") == first.index("400") + 3


def test_the_json_has_every_sample():
    document = as_json(make_report(both=True))
    (row,) = document["workloads"]
    assert [sample["per_s"] for sample in row["samples"][OURS]] == [100.0, 300.0, 200.0]
    assert row["ratio"] == {"per_s": 2.0, "per_cpu_s": 4.0}
    assert document["figures"][0]["ratio"] == 10.0
    assert document["sizes"]["clients"] == 32


@pytest.mark.parametrize(
    "name", [pytest.param("etcd", id="plain"), pytest.param("a) (b c", id="brackets-and-spaces")]
)
def test_a_process_may_have_any_name(name):
    numbers = " ".join(str(n) for n in range(4, 53))
    process = parse_stat(f"77 ({name}) S {numbers}")
    assert (process.pid, process.name, process.parent) == (77, name, 4)
    assert process.cpu_s == (14 + 15) / os.sysconf("SC_CLK_TCK")


def test_a_process_is_counted_with_its_descendants():
    grandparent = os.getppid()
    assert os.getpid() in children(grandparent)
    own = usage([os.getpid()])
    assert own.cpu_s > 0
    assert usage([grandparent]).resident_bytes >= own.resident_bytes > 1024 * 1024


MAPPED = """\
7f00-7f01 r-xp {offset} 08:01 12 {path}
Size:                400 kB
Rss:                 {resident} kB
Anonymous:           {own} kB
VmFlags: rd ex mr mw me
"""


def mapped(path, offset, resident, own=0):
    return MAPPED.format(path=path, offset=offset, resident=resident, own=own)


def test_what_several_processes_have_of_a_file_is_counted_once():
    first = mapped("/lib/a b.so", "00000000", 300) + mapped("/lib/a b.so", "00001000", 40, own=40)
    first += mapped("", "00000000", 70, own=70) + mapped("[heap]", "00000000", 5, own=5)
    second = mapped("/lib/a b.so", "00000000", 200) + mapped("/lib/c.so", "00000000", 11, own=1)
    assert held([first]) == (300 + 40 + 70 + 5) * 1024
    assert held([second]) == 211 * 1024
    assert held([first, second]) == (300 + 40 + 70 + 5 + 11) * 1024
    assert held([first, first]) == (300 + 2 * (40 + 70 + 5)) * 1024
