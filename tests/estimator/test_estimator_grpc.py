"""Estimators over a real socket: asked, answered, refused, silent, and gone."""

import asyncio
import socket
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from atoll.apiserver.certificates import ensure_credentials
from atoll.errors import Invalid
from atoll.estimator.asking import UNKNOWN, Estimators
from atoll.estimator.grpc import Trust
from atoll.estimator.messages import REPLICAS, UNSCHEDULABLE
from atoll.estimator.serving import NotHere, serving
from atoll.wire import Wire

HOST = "127.0.0.1"


class Counting:
    """Answers with as many replicas as the request names CPUs, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Wire]] = []
        self.silent = False

    async def answer(self, method: str, request: Wire) -> int:
        self.asked.append((method, request))
        if self.silent:
            await asyncio.Event().wait()
        if request["cluster"] != "m1":
            raise NotHere(f"{request['cluster']} is not here")
        cpu = request["replicaRequirements"]["resourceRequest"]["cpu"]
        if not cpu.isdigit():
            raise Invalid("resourceRequest[cpu]", cpu, "is no quantity")
        return int(cpu)


def _needs(cpu: str) -> Wire:
    return {"replicaRequirements": {"resourceRequest": {"cpu": cpu}}}


def _run(main: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(120):
            await main

    asyncio.run(bounded())


def test_an_estimator_is_asked_and_answers() -> None:
    async def main() -> None:
        answers = Counting()
        async with serving(answers, HOST, 0) as port:
            estimators = Estimators(lambda _: (HOST, port))
            assert await estimators.ask(REPLICAS, "m1", _needs("7")) == 7
            assert await estimators.ask(REPLICAS, "m2", _needs("7")) == UNKNOWN
            assert (REPLICAS, {"cluster": "m1", **_needs("7")}) in answers.asked
            assert await estimators.ask(REPLICAS, "m1", _needs("seven")) == UNKNOWN
            estimators.close()

    _run(main())


def test_a_cluster_without_an_estimator_is_unknown() -> None:
    async def main() -> None:
        assert await Estimators(lambda _: None).ask(UNSCHEDULABLE, "m1", {}) == UNKNOWN

    _run(main())


def test_one_that_does_not_answer_is_left_alone_for_a_while() -> None:
    async def main() -> None:
        answers = Counting()
        answers.silent = True
        async with serving(answers, HOST, 0) as port:
            estimators = Estimators(lambda _: (HOST, port), timeout_s=0.05)
            for _ in range(3):
                assert await estimators.ask(REPLICAS, "m1", _needs("1")) == UNKNOWN
            assert len(answers.asked) <= 1
            estimators.close()

    _run(main())


def test_one_that_is_gone_is_unknown_until_it_is_found_elsewhere() -> None:
    async def main() -> None:
        with socket.create_server((HOST, 0)) as unused:
            gone = unused.getsockname()[1]
        where = {"m1": (HOST, gone)}
        estimators = Estimators(where.get)
        assert await estimators.ask(REPLICAS, "m1", _needs("2")) == UNKNOWN
        async with serving(Counting(), HOST, 0) as port:
            where["m1"] = (HOST, port)
            assert await estimators.ask(REPLICAS, "m1", _needs("2")) == 2
            estimators.close()

    _run(main())


@pytest.mark.parametrize("shown", [True, False], ids=["with a certificate", "without one"])
def test_tls_lets_in_whom_it_can_verify(tmp_path: Path, *, shown: bool) -> None:
    pki = ensure_credentials(tmp_path / "pki", datetime.now(UTC))
    server = Trust(pki.ca, pki.server, pki.server_key)
    client = Trust(pki.ca, pki.admin, pki.admin_key) if shown else Trust(pki.ca)

    async def main() -> None:
        async with serving(Counting(), HOST, 0, server) as port:
            estimators = Estimators(lambda _: (HOST, port), client)
            found = await estimators.ask(REPLICAS, "m1", _needs("3"))
            assert found == (3 if shown else UNKNOWN)
            estimators.close()

    _run(main())
