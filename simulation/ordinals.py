"""What users do with a StatefulSet that is divided by ordinals: they make, scale and move it."""

from simulation.objects import ORDINALS, POLICIES, STATEFUL, STATEFULSETS, ordinal_policy, template
from simulation.users import Act, User


async def write_ordinals(user: User) -> None:
    """Make the StatefulSet, or scale it."""
    found = await user.find(*STATEFUL)
    size = user.draws.randint(0, 5)
    user.world.note(f"{STATEFUL[2]} is {'changed' if found else 'made'} to {size}")
    if found is None:
        await user.api.create(STATEFULSETS, template(STATEFUL, ORDINALS, size))
    else:
        wanted = {**found, "spec": {**found["spec"], "replicas": size}}
        await user.api.replace(STATEFULSETS, wanted)


async def move_ordinals(user: User) -> None:
    """Make the policy of the StatefulSet, or let it ask for other clusters."""
    wanted = ordinal_policy(user.draws, list(user.members))
    namespace, name = wanted["metadata"]["namespace"], wanted["metadata"]["name"]
    user.world.note(f"{ORDINALS} go to {wanted['spec']['placement']['clusterAffinity']}")
    found = await user.find(POLICIES, namespace, name)
    if found is None:
        await user.api.create(POLICIES, wanted)
    else:
        await user.api.replace(POLICIES, {**found, "spec": {**found["spec"], **wanted["spec"]}})


async def delete_ordinals(user: User) -> None:
    found = await user.find(*STATEFUL)
    if found is not None and user.draws.random() < 0.3:
        await user.delete(STATEFULSETS, found)


ACTS: tuple[Act, ...] = (write_ordinals, write_ordinals, move_ordinals, delete_ordinals)
