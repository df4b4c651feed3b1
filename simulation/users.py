"""Users of a plane: they write templates and policies, change their minds, and make a mess.

A client, the members and draws come in; nothing goes out but what is then in the plane and in the
members. Which kinds of acts there are in a run is drawn as well: rare acts meet each other more
often where others are missing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from atoll.client.api import ApiClient, Collection, Refused
from atoll.client.inprocess import InProcess
from atoll.simulated.member import ADMINISTRATOR, Member
from atoll.wire import Wire
from simulation.objects import (
    CLUSTER_POLICIES,
    CLUSTERS,
    DEFAULT,
    EXTRA,
    FOREIGN,
    GROUPS,
    NAMESPACES,
    OVERRIDES,
    POLICIES,
    REBALANCERS,
    TEMPLATES,
    TIERS,
    Place,
    of_group,
    of_name,
    override,
    placement,
    policy,
    rebalancer,
    sized,
    template,
)
from simulation.promises import Promises
from simulation.world import World

Act = Callable[["User"], Awaitable[object]]


@dataclass(frozen=True)
class Habits:
    """What the users of one run do, the more often the more often it is listed, and with what."""

    acts: Sequence[Act]
    places: Sequence[Place]


@dataclass(frozen=True)
class User:
    """One who does something now and then, and does not mind being refused."""

    world: World
    api: ApiClient
    draws: Random
    members: Mapping[str, Member]
    promises: Promises
    habits: Habits

    async def settle_in(self) -> None:
        """Begin with something of everything."""
        await self.api.create(NAMESPACES, namespace(EXTRA))
        for group in GROUPS:
            spec = {"resourceSelectors": of_group(group), "placement": self.somewhere()}
            await self.api.create(POLICIES, policy(POLICIES, (DEFAULT, group), spec))
        for place in self.habits.places:
            wire = template(place, self.draws.choice(GROUPS), self.draws.randint(0, 4))
            await self.api.create(place[0], wire)

    async def run(self) -> None:
        """Go on for ever."""
        while True:
            await asyncio.sleep(self.draws.expovariate(2.5))
            try:
                await self.draws.choice(self.habits.acts)(self)
            except Refused as refused:
                self.world.note(f"refused: {refused}")

    async def find(self, collection: Collection, namespace: str, name: str) -> Wire | None:
        try:
            return await self.api.get(collection.path(namespace, name))
        except Refused as refused:
            if refused.code == 404:
                return None
            raise

    async def delete(self, collection: Collection, wire: Wire) -> None:
        self.world.note(f"{wire['kind']} {wire['metadata']['name']} is deleted")
        await self.api.delete(collection, wire)

    def somewhere(self) -> dict[str, Any]:
        return placement(self.draws, list(self.members))


def habits(draws: Random, more: Sequence[Act] = ()) -> Habits:
    """Some of all that users may do, with some of all templates; `more` is what else they may."""
    usual: tuple[Act, ...] = (*[write_template] * 6, *[write_policy] * 4)
    rare: tuple[Act, ...] = (
        relabel,
        delete_template,
        replace_template,
        delete_policy,
        replace_policy,
        write_rival,
        write_for_all,
        suspend,
        preserve,
        carry_along,
        rebalance,
        write_override,
        delete_override,
        label_cluster,
        taint_cluster,
        leave_or_join,
        make_or_end_namespace,
        edit_by_hand,
        delete_by_hand,
    )
    acts = [*usual, *(act for act in rare if draws.random() < 0.4)]
    if draws.random() < 0.3:
        # What a cluster that has left still runs is not known, so that nobody may run it again.
        acts = [*(act for act in acts if act is not leave_or_join), *more]
    return Habits(acts, (TEMPLATES[0], *draws.sample(TEMPLATES[1:], draws.randint(1, 3))))


async def write_template(user: User) -> None:
    """Make a template, or give it another size; often none at all."""
    place, draws = user.draws.choice(user.habits.places), user.draws
    found = await user.find(*place)
    size = draws.choice((0, 1, 2, 3, 5))
    user.world.note(f"{place[2]} is {'changed' if found else 'made'} to {size}")
    if found is None:
        await user.api.create(place[0], template(place, draws.choice(GROUPS), size))
    else:
        await user.api.replace(place[0], sized(found, size))


async def relabel(user: User) -> None:
    place, group = user.draws.choice(user.habits.places), user.draws.choice((*GROUPS, "grey"))
    found = await user.find(*place)
    if found is not None:
        user.world.note(f"{place[2]} is of group {group}")
        labels = {**(found["metadata"].get("labels") or {}), "group": group}
        await user.api.replace(
            place[0], {**found, "metadata": {**found["metadata"], "labels": labels}}
        )


async def delete_template(user: User) -> Place | None:
    place = user.draws.choice(user.habits.places)
    found = await user.find(*place)
    if found is None:
        return None
    await user.delete(place[0], found)
    return place


async def replace_template(user: User) -> None:
    """Delete a template and make another of its name at once."""
    place = await delete_template(user)
    if place is not None:
        user.world.note(f"{place[2]} is made again")
        made = template(place, user.draws.choice(GROUPS), user.draws.randint(0, 4))
        await user.api.create(place[0], made)


async def write_policy(user: User) -> None:
    """Make the policy of a group, or move all that it holds."""
    draws = user.draws
    where = draws.choice((DEFAULT, DEFAULT, EXTRA)), draws.choice(GROUPS)
    found = await user.find(POLICIES, *where)
    wanted = user.somewhere()
    user.world.note(f"policy {where} goes to {wanted}")
    if found is None:
        spec = {"resourceSelectors": of_group(where[1]), "placement": wanted}
        if draws.random() < 0.2:
            spec["conflictResolution"] = "Overwrite"
        await user.api.create(POLICIES, policy(POLICIES, where, spec))
    else:
        await user.api.replace(POLICIES, {**found, "spec": {**found["spec"], "placement": wanted}})


async def delete_policy(user: User) -> None:
    for collection, where in (
        (POLICIES, (DEFAULT, user.draws.choice((*GROUPS, "rival-0", "rival-1")))),
        (CLUSTER_POLICIES, ("", "for-all")),
    ):
        found = await user.find(collection, *where)
        if found is not None:
            await user.delete(collection, found)
            return


async def replace_policy(user: User) -> None:
    """Delete a policy and make another of its name, now or when the first is gone."""
    where = DEFAULT, user.draws.choice(GROUPS)
    found = await user.find(POLICIES, *where)
    if found is not None:
        await user.delete(POLICIES, found)
        await asyncio.sleep(user.draws.choice((0.0, 0.5)))
        spec = {"resourceSelectors": of_group(where[1]), "placement": user.somewhere()}
        await user.api.create(POLICIES, policy(POLICIES, where, spec))


async def write_rival(user: User) -> None:
    """A policy for one template by name, with a priority, against that of its group."""
    draws = user.draws
    where = DEFAULT, f"rival-{draws.randint(0, 1)}"
    found = await user.find(POLICIES, *where)
    meant = draws.choice([one for one in user.habits.places if one[1] == DEFAULT])
    spec = {
        "resourceSelectors": of_name(meant),
        "placement": user.somewhere(),
        "priority": draws.randint(0, 2),
        "preemption": draws.choice(("Always", "Never")),
    }
    user.world.note(f"{where[1]} asks for {meant[2]}")
    if found is None:
        await user.api.create(POLICIES, policy(POLICIES, where, spec))
    else:
        await user.api.replace(POLICIES, {**found, "spec": {**found["spec"], **spec}})


async def write_for_all(user: User) -> None:
    """A policy of the plane for a group in all namespaces."""
    found = await user.find(CLUSTER_POLICIES, "", "for-all")
    wanted = {"placement": user.somewhere()}
    user.world.note(f"for-all goes to {wanted}")
    if found is None:
        spec = {"resourceSelectors": of_group(user.draws.choice(GROUPS)), **wanted}
        await user.api.create(CLUSTER_POLICIES, policy(CLUSTER_POLICIES, ("", "for-all"), spec))
    else:
        await user.api.replace(CLUSTER_POLICIES, {**found, "spec": {**found["spec"], **wanted}})


async def suspend(user: User) -> None:
    """Let a policy's templates not be sent, to some clusters or to all; or again."""
    on = {"dispatchingOnClusters": {"clusterNames": [user.draws.choice(list(user.members))]}}
    wanted = user.draws.choice((None, None, {"dispatching": True}, on))
    await _change_policy(user, "suspension", wanted)


async def preserve(user: User) -> None:
    """Let what a policy placed outlive it in the members; or no more."""
    await _change_policy(user, "preserveResourcesOnDeletion", user.draws.random() < 0.5)


async def carry_along(user: User) -> None:
    """Let what a policy's templates refer to follow them; or no more."""
    await _change_policy(user, "propagateDeps", user.draws.random() < 0.7)


async def rebalance(user: User) -> None:
    """Have some templates placed anew."""
    places = [one for one in user.habits.places if user.draws.random() < 0.5]
    if places:
        wire = rebalancer(f"again-{user.draws.getrandbits(32):x}", places)
        user.world.note(f"rebalance {[one[2] for one in places]}")
        await user.api.create(REBALANCERS, wire)


async def _change_policy(user: User, field: str, value: Any) -> None:
    found = await user.find(POLICIES, DEFAULT, user.draws.choice(GROUPS))
    if found is not None:
        user.world.note(f"policy {found['metadata']['name']}: {field} is {value}")
        spec = {key: each for key, each in found["spec"].items() if key != field}
        spec |= {} if value is None else {field: value}
        await user.api.replace(POLICIES, {**found, "spec": spec})


async def write_override(user: User) -> None:
    name = user.draws.choice(("o0", "o1"))
    found = await user.find(OVERRIDES, DEFAULT, name)
    wanted = override(DEFAULT, name, user.draws, list(user.members))
    user.world.note(f"override {name}: {wanted['spec']['overrideRules']}")
    if found is None:
        await user.api.create(OVERRIDES, wanted)
    else:
        await user.api.replace(OVERRIDES, {**found, "spec": wanted["spec"]})


async def delete_override(user: User) -> None:
    found = await user.find(OVERRIDES, DEFAULT, user.draws.choice(("o0", "o1")))
    if found is not None:
        await user.delete(OVERRIDES, found)


async def label_cluster(user: User) -> None:
    found = await user.find(CLUSTERS, "", user.draws.choice(list(user.members)))
    if found is not None:
        labels = {**(found["metadata"].get("labels") or {}), "tier": user.draws.choice(TIERS)}
        user.world.note(f"cluster {found['metadata']['name']} is labelled {labels}")
        await user.api.replace(
            CLUSTERS, {**found, "metadata": {**found["metadata"], "labels": labels}}
        )


async def taint_cluster(user: User) -> None:
    """Close a cluster to what is new or to all, or open it again."""
    found = await user.find(CLUSTERS, "", user.draws.choice(list(user.members)))
    if found is not None:
        effect = user.draws.choice(("NoSchedule", "NoExecute"))
        taints = [] if found["spec"].get("taints") else [{"key": "full", "effect": effect}]
        user.world.note(f"cluster {found['metadata']['name']} has taints {taints}")
        await user.api.replace(CLUSTERS, {**found, "spec": {**found["spec"], "taints": taints}})


async def leave_or_join(user: User) -> None:
    """Remove a cluster from the fleet, or bring it back."""
    name = user.draws.choice(list(user.members))
    found = await user.find(CLUSTERS, "", name)
    if found is not None:
        if user.draws.random() < 0.3:
            user.promises.left.add(name)
            await user.delete(CLUSTERS, found)
        return
    if user.promises.was_joined(name):
        user.world.note(f"cluster {name} comes back")
        wire = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind}
        spec = {"syncMode": "Push", "region": "here", "provider": "sim"}
        await user.api.create(CLUSTERS, {**wire, "metadata": {"name": name}, "spec": spec})


async def make_or_end_namespace(user: User) -> None:
    found = await user.find(NAMESPACES, "", EXTRA)
    if found is None:
        user.world.note(f"namespace {EXTRA} is made")
        await user.api.create(NAMESPACES, namespace(EXTRA))
    elif user.draws.random() < 0.3:
        await user.delete(NAMESPACES, found)


def namespace(name: str) -> Wire:
    return {
        "apiVersion": NAMESPACES.api_version,
        "kind": NAMESPACES.kind,
        "metadata": {"name": name},
    }


async def edit_by_hand(user: User) -> None:
    """Change an object in a member past the plane."""
    found = await _in_member(user)
    if found is None:
        return
    name, api, collection, wire = found
    size = user.draws.randint(0, 9)
    user.world.note(f"{wire['metadata']['name']} is changed to {size} in {name} by hand")
    user.promises.expect_edit(wire)
    await api.replace(collection, sized(wire, size))


async def delete_by_hand(user: User) -> None:
    """Delete an object in a member past the plane."""
    found = await _in_member(user)
    if found is not None:
        name, api, collection, wire = found
        user.world.note(f"{wire['metadata']['name']} is deleted in {name} by hand")
        user.promises.expect_edit(wire)
        user.promises.by_hand.add(wire["metadata"]["uid"])
        await api.delete(collection, wire)


async def _in_member(user: User) -> tuple[str, ApiClient, Collection, Wire] | None:
    name = user.draws.choice(list(user.members))
    collection, space, template_name = user.draws.choice(user.habits.places)
    if template_name == FOREIGN:
        return None
    api = ApiClient(InProcess(user.members[name].server.handle, ADMINISTRATOR))
    try:
        wire = await api.get(collection.path(space, template_name))
    except Refused:
        return None
    return name, api, collection, wire
