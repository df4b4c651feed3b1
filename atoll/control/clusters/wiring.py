"""Clusters: who is reached, and from joining to leaving, their place in the plane.

A Cluster and its Secret come in; a way to it, its execution namespace and its finalizer go out.
Ways are begun, exchanged and ended here without waiting for anyone: a member that does not answer
is waited for by those who follow it, and by nobody else. Clusters that pull are never spoken to.
"""

from dataclasses import replace

from atoll.client.mirror import Mirror
from atoll.control.clusters import decide as membership
from atoll.control.clusters.decide import News, SeenCluster, may_move, targets
from atoll.control.hub import Hub
from atoll.control.loop import Controller, Loop
from atoll.dialects.karmada import names
from atoll.dialects.karmada.cluster_access import way
from atoll.dialects.karmada.objects import kinds
from atoll.dialects.karmada.works import is_applied
from atoll.errors import AtollError
from atoll.model.action import Ref
from atoll.model.member import Member
from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work
from atoll.wire import Object, Wire


class Membership:
    """Knows which clusters there are, and has a way to each that it is to reach."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._ways: dict[str, Object] = {}
        self._troubles: dict[str, str] = {}
        self._news: dict[str, News] = {}
        self._leaving: set[str] = set()
        self._beside: dict[tuple[str, str], Mirror] = {}
        controller = Controller(
            "clusters", self._observe, lambda seen: membership.plan(seen, hub.now, hub.times)
        )
        self.loop: Loop[str] = Loop(controller, hub.performer, hub.turns)
        hub.hear_values("clusters", kinds.CLUSTER, self._cluster_changed)
        hub.hear("clusters", ("v1", "Namespace"), self._namespace_changed)
        hub.hear_values("clusters", kinds.WORK, self._work_changed)
        hub.hear_bindings("clusters", self._binding_changed)

    def _observe(self, name: str) -> SeenCluster | None:
        cluster, news = self._hub.member(name), self._news.get(name)
        if cluster is None or cluster.problem is not None or news is None:
            return None
        is_leaving = cluster.meta.is_going
        space = names.execution_namespace(name)
        return SeenCluster(
            cluster=cluster,
            space=self._hub.plane.find(Ref("v1", "Namespace", "", space)),
            news=news,
            is_needed=is_leaving and self._is_needed(name),
            trouble=self._troubles.get(name, ""),
            works=tuple(self._works(name)) if is_leaving and cluster.spec.is_pulled else (),
        )

    def _attend(self, cluster: Member) -> None:
        """Have the way to a cluster that it names by now, or its Lease; and note what is new."""
        name, lease = cluster.name, None
        if cluster.problem is not None:
            return
        if cluster.spec.is_pulled:
            self._part(name)
            leases = self._following("coordination.k8s.io/v1", "Lease", names.CLUSTER_NAMESPACE)
            if not leases.ready.is_set():
                return
            lease = leases.get(names.CLUSTER_NAMESPACE, name)
        else:
            self._reach(name, cluster)
        now = self._hub.now
        self._news[name] = membership.heard(self._news.get(name), cluster, lease, now)
        self.loop.wake(name)

    def _works(self, name: str) -> list[Work]:
        return self._hub.works.by(_cluster, name)

    def _reach(self, name: str, cluster: Member) -> None:
        """Have the way to a cluster that its Cluster and Secret name by now; or know why not."""
        secret, ref = None, cluster.spec.secret
        if ref is not None:
            credentials = self._following("v1", "Secret", ref.namespace)
            if not credentials.ready.is_set():
                return
            secret = credentials.get(ref.namespace, ref.name)
        wanted = way(cluster.wire, secret)
        if self._ways.get(name) == wanted:
            return
        self._part(name)
        self._ways[name] = wanted
        try:
            self._hub.connect(name, self._hub.reach(cluster.wire, secret))
        except AtollError as problem:
            self._troubles[name] = str(problem)

    def _part(self, name: str) -> None:
        self._ways.pop(name, None)
        self._troubles.pop(name, None)
        self._hub.disconnect(name)

    def _forget(self, name: str) -> None:
        self._part(name)
        self._news.pop(name, None)

    def _following(self, api_version: str, kind: str, namespace: str) -> Mirror:
        """The mirror of a kind in one namespace: others may have very many that concern nobody."""
        known = self._beside.get((kind, namespace))
        if known is not None:
            return known
        plane = self._hub.plane
        collection = replace(plane.collection(api_version, kind), within=namespace)
        mirror = self._beside[kind, namespace] = Mirror(plane.api, collection)
        mirror.listen(self._beside_changed)
        self._hub.children.spawn(mirror.run(), f"{collection.plural} in {namespace}")
        self._hub.children.spawn(self._look_when_ready(mirror), f"{collection.plural} to be ready")
        return mirror

    async def _look_when_ready(self, mirror: Mirror) -> None:
        await mirror.ready.wait()
        collection = mirror.collection
        for cluster in self._hub.members.by(_beside, (collection.kind, collection.within)):
            self._attend(cluster)

    def _is_needed(self, name: str) -> bool:
        """Whether something in a cluster that leaves is on its way elsewhere, or may get on it."""
        works = filter(is_applied, self._works(name))
        running = (self._hub.binding(ref) for work in works for ref in work.bindings)
        found = (*self._hub.bindings(targets, name), *running)
        return any(each is not None and may_move(each, name) for each in found)

    def _cluster_changed(self, before: Member | None, after: Member | None) -> None:
        known = after or before
        if known is None:
            return
        self._leaving.discard(known.name)
        if after is None:
            self._forget(known.name)
            return
        if after.meta.is_going:
            self._leaving.add(known.name)
        self._attend(after)

    def _namespace_changed(self, before: Wire | None, after: Wire | None) -> None:
        name = names.cluster_of((after or before or {})["metadata"]["name"])
        if name is not None and (before is None or after is None):
            self.loop.wake(name)

    def _binding_changed(
        self, before: ResourceBinding | None, after: ResourceBinding | None
    ) -> None:
        """A cluster that leaves waits for those who look for another place."""
        for binding in (before, after) if self._leaving else ():
            for name in targets(binding) if binding is not None else ():
                self._wake_leaving(name)

    def _work_changed(self, before: Work | None, after: Work | None) -> None:
        if after is None and before is not None:
            self._wake_leaving(before.cluster)

    def _wake_leaving(self, name: str) -> None:
        if name in self._leaving:
            self.loop.wake(name)

    def _beside_changed(self, before: Wire | None, after: Wire | None) -> None:
        """A Secret, or the Lease of a cluster, came, changed or went."""
        wire = after or before or {}
        ref = Ref.of(wire)
        if ref.kind == "Lease":
            cluster = self._hub.member(ref.name)
            found = [cluster] if cluster is not None and cluster.spec.is_pulled else []
        else:
            found = self._hub.members.by(_secret, ref)
        for each in found:
            self._attend(each)


def _cluster(work: Work) -> tuple[str]:
    return (work.cluster,)


def _beside(cluster: Member) -> list[tuple[str, str]]:
    """In which namespace there is something of what kind that a cluster is looked at with."""
    if cluster.spec.is_pulled:
        return [("Lease", names.CLUSTER_NAMESPACE)]
    return [] if cluster.spec.secret is None else [("Secret", cluster.spec.secret.namespace)]


def _secret(cluster: Member) -> tuple[Ref | None]:
    return (cluster.spec.secret,)
