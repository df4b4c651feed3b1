"""Which clusters a kubeconfig has, and what joining all of them would mean.

A plane and a Kubeconfig come in; for every context there is said what would become of it. Nothing
is written. Several contexts of one cluster are one cluster: the current context, else the first.
"""

import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace

from atoll.client.endpoint import Endpoint
from atoll.client.kubeconfig import Kubeconfig
from atoll.client.plain import PlainClient
from atoll.client.refusals import Refused
from atoll.client.transport import Unreachable
from atoll.dialects.karmada.cluster_rules import NAME_MAX
from atoll.errors import UsageError
from atoll.members.objects import clusters_of, identity, plane_identity

AT_ONCE = 8
PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class Prospect:
    """A context, the cluster it means, and why not to join it, if there is a reason.

    `problem` is one the user should mend; `settled` is a reason to leave it as it is.
    """

    context: str
    server: str = ""
    id: str = ""
    name: str = ""
    problem: str = ""
    settled: str = ""

    @property
    def is_new(self) -> bool:
        return not self.problem and not self.settled


def survey(
    plane: PlainClient, kubeconfig: Kubeconfig, environment: Mapping[str, str]
) -> list[Prospect]:
    """What there is to join, in the order of the kubeconfig."""
    looked = _look_at_all(kubeconfig, environment)
    own = plane_identity(plane)
    clusters = clusters_of(plane)
    joined = {each.get("spec", {}).get("id"): each["metadata"]["name"] for each in clusters}
    # A context that is chosen for its cluster speaks for the others of it.
    order = sorted(looked, key=lambda each: each.context != kubeconfig.current)
    chosen: dict[str, str] = {}
    for each in order:
        if each.id:
            chosen.setdefault(each.id, each.context)
    taken = {each["metadata"]["name"] for each in clusters}
    found = []
    for each in looked:
        settled = _settled(each, own, joined, chosen)
        if not each.problem and not settled:
            name = derived_name(each.context, taken)
            taken.add(name)
            found.append(replace(each, name=name))
        else:
            found.append(replace(each, settled=settled))
    return found


def _settled(each: Prospect, own: str, joined: Mapping[str, str], chosen: Mapping[str, str]) -> str:
    if not each.id:
        return ""
    if each.id == own:
        return "is the plane itself"
    if each.id in joined:
        return f"has joined already as {joined[each.id]}"
    if chosen[each.id] != each.context:
        return f"is the cluster of context {chosen[each.id]}"
    return ""


def _look_at_all(kubeconfig: Kubeconfig, environment: Mapping[str, str]) -> list[Prospect]:
    found: dict[str, Prospect] = {}
    endpoints: dict[str, Endpoint] = {}
    for context in kubeconfig.contexts:
        try:
            endpoints[context] = kubeconfig.endpoint(context, environment)
        except UsageError as error:
            found[context] = Prospect(context, problem=str(error))
    # Plug-ins may ask the user something, so they are run one after the other.
    personal = [context for context, each in endpoints.items() if each.plugin is not None]
    quiet = [context for context in endpoints if context not in personal]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        looked = pool.map(lambda context: _look(context, endpoints[context]), quiet)
        found |= {each.context: each for each in looked}
    found |= {context: _look(context, endpoints[context]) for context in personal}
    return [found[context] for context in kubeconfig.contexts]


def _look(context: str, endpoint: Endpoint) -> Prospect:
    with closing(PlainClient(endpoint, PATIENCE_S)) as client:
        try:
            return Prospect(context, endpoint.server, identity(client))
        except (Refused, Unreachable, UsageError) as error:
            return Prospect(context, endpoint.server, problem=str(error))


def derived_name(context: str, taken: Iterable[str]) -> str:
    """A name that a cluster may have, after its context; unlike all those that are taken."""
    # Of the long names that cloud providers write, the last part is what people call it.
    said = context.rpartition("/")[2] if context.startswith("arn:") else context
    said = said.split("_")[-1] if said.startswith("gke_") else said
    plain = re.sub("[^a-z0-9]+", "-", said.lower()).strip("-")[:NAME_MAX].rstrip("-") or "cluster"
    name, number = plain, 1
    while name in taken:
        number += 1
        suffix = f"-{number}"
        name = plain[: NAME_MAX - len(suffix)].rstrip("-") + suffix
    return name
