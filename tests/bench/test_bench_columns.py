"""The bench of following nodes and pods counts what it says it counts."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from bench.columns import measure


def test_a_small_cluster_costs_as_little_each_as_a_large_one() -> None:
    # In a process of its own: all that Python holds is counted, whoever asked for it.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        costs = pool.submit(measure, nodes=50, pods=1_000).result()
    assert 100 < costs.node_bytes < 4_000
    assert 50 < costs.pod_bytes < 1_000
    assert costs.node_us > 0
    assert costs.pod_us > 0
