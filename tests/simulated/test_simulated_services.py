"""What members tell of who is behind a service: of pods by their ports, and of Endpoints."""

import asyncio

from simulated_talk import CORE, LABELS, ask

from atoll.simulated.member import build, running
from simulation.world import simulate

SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
ENDPOINTS = f"{CORE}endpoints"
MANAGED = "endpointslice.kubernetes.io/managed-by"


def played(scenario):
    """What a scenario with one member gives, in time that passes only while all wait."""

    async def main(world):
        member = build("m1", world.effects("m1"))
        async with running(member):
            return await scenario(member)

    return simulate(main, 1).value


def pod(name, **ports):
    named = [{"name": key, "containerPort": value} for key, value in ports.items()]
    container = {"name": "web", "image": "nginx", "ports": named}
    return {"metadata": {"name": name, "labels": LABELS}, "spec": {"containers": [container]}}


def service(name, *ports, **spec):
    return {"metadata": {"name": name}, "spec": {"ports": list(ports), **spec}}


async def slices_of(member, name):
    """The slices of a service, once there has been time to write them."""
    await asyncio.sleep(5)
    found = (await ask(member, "GET", SLICES))["items"]
    return [one for one in found if one["metadata"]["labels"]["kubernetes.io/service-name"] == name]


def told(slices):
    """By the numbers of their ports: the pods, or the addresses, of slices."""
    return {
        tuple(port["port"] for port in one["ports"]): sorted(
            each.get("targetRef", {}).get("name") or each["addresses"][0]
            for each in one["endpoints"]
        )
        for one in slices
    }


WEB = {"name": "web", "port": 80, "targetPort": "http"}
MORE = {"name": "more", "port": 81, "targetPort": "admin"}


def test_pods_are_told_by_the_ports_that_they_have():
    async def scenario(member):
        for each in (pod("a", http=8080), pod("b", http=9090), pod("c", http=8080, admin=1)):
            await ask(member, "POST", f"{CORE}pods", each)
        await ask(member, "POST", f"{CORE}pods", pod("d"))
        await ask(member, "POST", f"{CORE}services", service("w", WEB, MORE, selector=LABELS))
        slices = await slices_of(member, "w")
        return slices, await ask(member, "GET", f"{CORE}endpoints/w")

    slices, endpoints = played(scenario)
    assert told(slices) == {(8080,): ["a"], (9090,): ["b"], (8080, 1): ["c"], (): ["d"]}
    subsets = {
        tuple(port["port"] for port in one["ports"]): [
            each["targetRef"]["name"] for each in one["addresses"]
        ]
        for one in endpoints["subsets"]
    }
    assert subsets == {(8080,): ["a"], (9090,): ["b"], (8080, 1): ["c"]}  # d has no port of it


def test_slices_that_are_deleted_come_back_and_are_filled_anew_when_ports_change():
    async def scenario(member):
        await ask(member, "POST", f"{CORE}pods", pod("a", http=8080, admin=1))
        await ask(member, "POST", f"{CORE}services", service("w", WEB, selector=LABELS))
        [first] = await slices_of(member, "w")
        await ask(member, "DELETE", f"{SLICES}/{first['metadata']['name']}")
        [second] = await slices_of(member, "w")
        await ask(member, "PATCH", f"{CORE}services/w", {"spec": {"ports": [MORE]}})
        [third] = await slices_of(member, "w")
        await ask(member, "DELETE", f"{CORE}pods/a")
        [empty] = await slices_of(member, "w")
        return first, second, third, empty

    first, second, third, empty = played(scenario)
    assert told([first]) == told([second]) == {(8080,): ["a"]}
    assert first["metadata"]["uid"] != second["metadata"]["uid"] == third["metadata"]["uid"]
    assert told([third]) == {(1,): ["a"]}
    assert (empty["endpoints"], empty["ports"]) == ([], [])


def test_endpoints_of_a_service_without_a_selector_are_mirrored():
    def endpoints(ip):
        ports = [{"port": 80}]
        subsets = [
            {"addresses": [{"ip": ip}, {"ip": "fd00::1"}], "ports": ports},
            {"addresses": [{"ip": ip}], "ports": [{"name": "more", "port": 81}]},
        ]
        return {"metadata": {"name": "own", "labels": {"a": "b"}}, "subsets": subsets}

    async def scenario(member):
        await ask(member, "POST", f"{CORE}services", service("own", {"port": 80}))
        await ask(member, "POST", f"{CORE}endpoints", endpoints("10.1.2.3"))
        made = await slices_of(member, "own")
        await ask(member, "PUT", f"{CORE}endpoints/own", endpoints("10.1.2.4"))
        changed = await slices_of(member, "own")
        label = {"endpointslice.kubernetes.io/skip-mirror": "true"}
        await ask(member, "PATCH", f"{CORE}endpoints/own", {"metadata": {"labels": label}})
        skipped = await slices_of(member, "own")
        await ask(member, "DELETE", f"{CORE}endpoints/own")
        await ask(member, "POST", f"{CORE}endpoints", endpoints("10.1.2.5"))
        again = await slices_of(member, "own")
        await ask(member, "DELETE", f"{CORE}endpoints/own")
        return made, changed, skipped, again, await slices_of(member, "own")

    made, changed, skipped, again, gone = played(scenario)
    assert told(made) == {(80, 81): ["10.1.2.3"], (80,): ["fd00::1"]}
    assert {one["addressType"] for one in made} == {"IPv4", "IPv6"}
    labels = made[0]["metadata"]["labels"]
    assert (labels["a"], labels[MANAGED]) == ("b", "endpointslicemirroring-controller.k8s.io")
    assert made[0]["metadata"]["ownerReferences"][0]["kind"] == "Endpoints"
    assert told(changed) == {(80, 81): ["10.1.2.4"], (80,): ["fd00::1"]}
    assert told(again) == {(80, 81): ["10.1.2.5"], (80,): ["fd00::1"]}
    assert (skipped, gone) == ([], [])


def test_endpoints_end_with_their_service_and_need_none():
    written = {"metadata": {"name": "alone"}, "subsets": [{"addresses": [{"ip": "10.1.1.1"}]}]}
    of_nobody = {
        "metadata": {"name": "s", "labels": {"kubernetes.io/service-name": "alone"}},
        "addressType": "IPv4",
        "endpoints": [],
    }

    async def names(member):
        await asyncio.sleep(5)
        return [one["metadata"]["name"] for one in (await ask(member, "GET", ENDPOINTS))["items"]]

    async def scenario(member):
        await ask(member, "POST", ENDPOINTS, written)
        await ask(member, "POST", SLICES, of_nobody)
        await ask(member, "DELETE", f"{SLICES}/s")
        assert await names(member) == ["alone"]
        await ask(member, "POST", f"{CORE}services", service("web", WEB, selector=LABELS))
        assert await names(member) == ["alone", "web"]
        await ask(member, "DELETE", f"{CORE}services/web")
        assert await names(member) == ["alone"]

    played(scenario)


def test_a_pod_that_ends_is_no_endpoint_but_still_told_in_slices():
    async def scenario(member):
        await ask(member, "POST", f"{CORE}pods", pod("a", http=8080))
        await ask(member, "POST", f"{CORE}services", service("w", WEB, selector=LABELS))
        held = {"metadata": {"finalizers": ["a.b/c"]}}
        await ask(member, "PATCH", f"{CORE}pods/a", held)
        await ask(member, "DELETE", f"{CORE}pods/a")
        [only] = await slices_of(member, "w")
        return only, await ask(member, "GET", f"{CORE}endpoints/w")

    only, endpoints = played(scenario)
    assert only["endpoints"][0]["conditions"] == {
        "ready": False,
        "serving": True,
        "terminating": True,
    }
    assert not endpoints.get("subsets")
