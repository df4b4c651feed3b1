"""`atoll demo`: small stories to try, on whatever plane runs: what is applied, and what came of it.

Every story is a file of YAML that is shown and applied as a user would; then the plane is watched
until it has settled, and the next commands are named. Nothing here is decided or faked.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from urllib.parse import urlencode

import click

from atoll.cli.amounts import hourly, monthly
from atoll.cli.applying import apply, documents, remove, wait
from atoll.cli.choosing import chosen
from atoll.cli.discovering import Kinds, Resource
from atoll.cli.failing import CommandFailed
from atoll.cli.known import BINDINGS, CLUSTERS, EXPLANATIONS
from atoll.cli.printing import show, tell
from atoll.cli.reaching import Plane, plane_options
from atoll.cli.timeline import Sight, happened, ready_of
from atoll.dialects.karmada.names import binding_name
from atoll.members.objects import clusters_of
from atoll.wire import Object

_MARK = "atoll.io/demo"
_WITHIN_S, _EXPLAINED_WITHIN_S = 300.0, 10.0


@dataclass(frozen=True, slots=True)
class Story:
    """What a demo is about: a workload of its file, and what it needs to be worth showing."""

    title: str
    kind: str
    namespace: str
    name: str
    needs_own: bool = False

    @property
    def word(self) -> str:
        return f"{'sts' if self.kind == 'StatefulSet' else 'deploy'}/{self.name}"


_WEB = "a Deployment in two regions or more, divided by what is free"
_BURST = "one's own clusters first, a cloud when they are full"
_FAILOVER = "a cluster fails, and its share moves to the others; then it is healed"
_STATEFUL = "a StatefulSet in two clusters, every ordinal in one of them only"
STORIES = {
    "web": Story(_WEB, "Deployment", "shop", "web"),
    "failover": Story(_FAILOVER, "Deployment", "shop", "web"),
    "burst": Story(_BURST, "Deployment", "render", "frames", needs_own=True),
    "stateful": Story(_STATEFUL, "StatefulSet", "data", "db"),
}
_HELP = "Apply a small example, shown as YAML, and see where it goes.\n\n\b\n" + "\n".join(
    f"  {name:<10}{story.title}" for name, story in STORIES.items()
)


@click.command(help=_HELP)
@click.argument("name", type=click.Choice(list(STORIES)))
@click.option(
    "--dry-run",
    type=click.Choice(["none", "client"]),
    default="none",
    help="client: only show the YAML.",
)
@click.option("--cleanup", is_flag=True, help="Remove what the demo has made.")
@click.option("--timeout", default=_WITHIN_S, show_default=True, help="Seconds to wait.")
@plane_options
def demo(plane: Plane, name: str, dry_run: str, timeout: float, *, cleanup: bool) -> None:
    story, written = STORIES[name], read_demo(name)
    if dry_run == "client":
        show(written.rstrip("\n"))
        return
    telling = Telling(plane, story, Kinds.of(plane.client), timeout)
    telling.check_namespace()
    if cleanup:
        telling.clean_up(documents(written))
        return
    telling.check_clusters()
    if name == "failover":
        _check_simulated()
    show(written)
    telling.apply(documents(written))
    if name == "failover":
        telling.fail_over()
    if name == "burst":
        telling.burst()
    if name == "stateful":
        telling.show_ordinals()
    telling.say_next(name)


def _check_simulated() -> None:
    """The plane's clusters may be let fail: they are simulated, and of this very instance."""
    params = click.get_current_context().params
    named = params.get("kubeconfig") or params.get("karmada_context")
    if named or not chosen(params.get("data_dir")).fleet_note.exists():
        what = "this demo lets a simulated cluster fail, and here are none"
        attempt = "atoll up --fleet hybrid --data-dir DIR, for a plane that has some"
        raise CommandFailed(what, "", attempt)


def read_demo(name: str) -> str:
    """The YAML of a demo, wherever Atoll is installed."""
    return (resources.files("atoll.cli") / "demos" / f"{name}.yaml").read_text()


@dataclass(frozen=True, slots=True)
class Telling:
    """One story on one plane."""

    plane: Plane
    story: Story
    kinds: Kinds
    within_s: float

    @property
    def _resource(self) -> Resource:
        return self.kinds.find(self.story.kind)

    def check_namespace(self) -> None:
        """Nobody else's objects are changed, or removed: the namespace is a demo's, or new."""
        name = self.story.namespace
        found = self.plane.client.find(self.kinds.find("namespaces").collection.path(name=name))
        if found is not None and _MARK not in (found["metadata"].get("labels") or {}):
            what = f'the namespace "{name}" is there already, and no demo has made it'
            attempt = "atoll up --fleet hybrid --data-dir DIR, for a plane to play with"
            raise CommandFailed(what, "", attempt)

    def check_clusters(self) -> None:
        """The plane has clusters that the story can be told with; CommandFailed if not."""
        found = clusters_of(self.plane.client)
        own = [each for each in found if (each.get("spec") or {}).get("provider") == "onprem"]
        ready = [each for each in found if ready_of(each) == "True"]
        attempt = "atoll up --fleet hybrid --data-dir DIR, for a plane with simulated clusters"
        if len(ready) < 2:
            raise CommandFailed(f"{len(ready)} clusters are ready, and it takes two", "", attempt)
        if self.story.needs_own and not own:
            raise CommandFailed('no cluster has the provider "onprem"', "", attempt)

    def apply(self, objects: list[Object]) -> None:
        for line in apply(self.plane.client, self.kinds, objects):
            show(line)
        self.settle()

    def settle(self) -> None:
        """Wait until all replicas are placed and ready, and show where."""
        took = wait(self._is_ready, f"{self.story.word} is placed and ready", self.within_s)
        tell(f"placed and ready in {took:.1f} s")
        with suppress(CommandFailed):  # what it costs is told last, and not worth a long wait
            wait(self._is_explained, "it is explained", _EXPLAINED_WITHIN_S)
        show(self._placed())

    def burst(self) -> None:
        """Scale beyond what one's own clusters hold, and back."""
        scale = self._resource.collection.path(self.story.namespace, self.story.name, "scale")
        own, clouds = self._room()
        for replicas in (own + max(clouds // 2, 1), 20):
            show(f"{self.story.word} scaled to {replicas}")
            self.plane.client.patch(scale, {"spec": {"replicas": replicas}})
            self.settle()

    def fail_over(self) -> None:
        """Kill the cluster that runs most, see the work move away, and heal the cluster."""
        from atoll.cli.chaos import heal, kill

        context = click.get_current_context()
        before = self._look()
        victim = max(before.targets, key=lambda name: before.targets[name])
        named = {"cluster": victim, "data_dir": context.params.get("data_dir")}
        show(f"Run: {self.plane.command(f'chaos kill {victim}')}")
        context.invoke(kill, hang=False, **named)
        try:
            moved = self._follow(before, lambda now: now.whole and victim not in now.targets)
            show(f"{self.story.name} {moved.running}/{moved.wanted} ready, without {victim}")
        finally:
            show(f"Run: {self.plane.command(f'chaos heal {victim}')}")
            context.invoke(heal, **named)
        self._follow(
            moved,
            lambda now: now.ready[victim] == "True" and now.taints[victim] == before.taints[victim],
        )
        show(self._placed())

    def _follow(self, before: Sight, until: Callable[[Sight], bool]) -> Sight:
        """Tell what happens until something holds."""
        began, seen = time.monotonic(), [before]

        def holds() -> bool:
            now = self._look()
            for who, what in happened(seen[-1], now, self.story.name):
                show(f"+{time.monotonic() - began:3.0f}s  {who:<10} {what}")
            seen.append(now)
            return until(now)

        wait(holds, f"{self.story.word} has settled", self.within_s)
        return seen[-1]

    def _look(self) -> Sight:
        path = self._resource.collection.path(self.story.namespace, self.story.name)
        client = self.plane.client
        return Sight.of(client.list(CLUSTERS), self._binding(), client.get(path))

    def show_ordinals(self) -> None:
        """Which ordinals each cluster runs, as the Works that were sent there say."""
        name = self.story.name
        for cluster, first, count in self._ordinals():
            pods = (
                f"{name}-{first} to {name}-{first + count - 1}" if count > 1 else f"{name}-{first}"
            )
            show(f"  {cluster}: {pods}")

    def _room(self) -> tuple[int, int]:
        """How many replicas fit in one's own clusters, those that run included, and in clouds."""
        size = urlencode({"cpu": "2", "memory": "4Gi"})
        fits = self.plane.client.get("/atoll/fits", size)["fits"]
        running = self._look().targets
        room = {True: 0, False: 0}
        for each in self.plane.client.list(CLUSTERS):
            spec = each.get("spec") or {}
            own = spec.get("provider") == "onprem"
            if own or not spec.get("taints"):
                name = each["metadata"]["name"]
                room[own] += fits.get(name, 0) + running.get(name, 0)
        return room[True], room[False]

    def clean_up(self, objects: list[Object]) -> None:
        is_gone = True
        for line in remove(self.plane.client, self.kinds, objects):
            show(line)
            is_gone = False
        if is_gone:
            tell("There was nothing to remove")

    def say_next(self, name: str) -> None:
        where = f"{self.story.word} -n {self.story.namespace}"
        command = self.plane.command
        show(f"Next: {command(f'why {where}')}      {command('top workloads')}")
        show(f"Remove it: {command(f'demo {name} --cleanup')}")

    def _binding(self) -> Object:
        name = binding_name(self.story.kind, self.story.name)
        return self.plane.client.find(BINDINGS.path(self.story.namespace, name)) or {}

    def _is_ready(self) -> bool:
        path = self._resource.collection.path(self.story.namespace, self.story.name)
        template = self.plane.client.get(path)
        wanted, status = template["spec"]["replicas"], template.get("status") or {}
        spec = self._binding().get("spec") or {}
        placed = sum(each.get("replicas", 0) for each in spec.get("clusters") or ())
        seen = status.get("observedGeneration") == template["metadata"].get("generation")
        return bool(seen and status.get("readyReplicas") == wanted == placed)

    def _placed(self) -> str:
        """Where it is, and what that costs as far as it is known by now."""
        targets, decision = self._look().targets, self._decision()
        ordered = sorted(targets.items(), key=lambda each: (-each[1], each[0]))
        where = " · ".join(f"{name} {count}" for name, count in ordered)
        cost = str(decision.get("cost", "")) if _targets(decision) == targets else ""
        return f"{where}      ≈ {hourly(cost)}{monthly(cost)}" if cost else where

    def _is_explained(self) -> bool:
        return _targets(self._decision()) == self._look().targets

    def _decision(self) -> Object:
        """The last decision, as far as it is recorded by now."""
        name = binding_name(self.story.kind, self.story.name)
        told = self.plane.client.find(EXPLANATIONS.path(self.story.namespace, name)) or {}
        newest: Object = (told.get("decisions") or [{}])[0]
        return newest

    def _ordinals(self) -> list[tuple[str, int, int]]:
        works = self.kinds.find("works.work.karmada.io").collection
        meant, found = (self.story.kind, self.story.name), []
        for target in (self._binding().get("spec") or {}).get("clusters") or ():
            for work in self.plane.client.list(works, f"karmada-es-{target['name']}"):
                for each in (work["spec"].get("workload") or {}).get("manifests") or ():
                    if (each["kind"], each["metadata"]["name"]) == meant:
                        spec = each["spec"]
                        first = (spec.get("ordinals") or {}).get("start", 0)
                        found.append((target["name"], first, spec["replicas"]))
        return sorted(found, key=lambda each: each[1])


def _targets(decision: Object) -> dict[str, int]:
    return {each["name"]: each["replicas"] for each in decision.get("targets") or ()}
