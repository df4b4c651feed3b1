"""`atoll install`: have the control plane run in a cluster, its host, and keep it up to date."""

import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

import click

from atoll.cli import options
from atoll.cli.failing import TIMEOUT, USAGE, CommandFailed
from atoll.cli.output import DATA, JSON, YAML, listed, output_option, show_data
from atoll.cli.printing import show, tell
from atoll.cli.run import LOOPBACK
from atoll.client.kubeconfig import read_kubeconfigs, usual_files
from atoll.client.plain import PlainClient
from atoll.config import ALL_PLUGINS
from atoll.hosting import deploying, elsewhere
from atoll.hosting.installation import NAME, NAMESPACE, PLANE_SECRET, Installation, Plane, Resources
from atoll.hosting.place import Place
from atoll.members.objects import speaking_to
from atoll.wire import Wire

_HELP = """Install the control plane in a cluster, or bring it up to date there.

The cluster is the plane's host: users keep their workloads and policies in it, and replicas of
`atoll run` look after them. Everything that is made is told. Doing it again changes only what
differs, so this is the way to upgrade, too. What it needs of the host beside, its kinds, its API
and its webhooks, it makes itself once it runs.

With --plane-kubeconfig users keep them in another API server instead, by its administrator's leave:
the replicas are given an account there, with the rights that they use and no others.

\b
atoll install --kubeconfig ~/.kube/host --image registry/atoll:1.0 --wait
atoll install --kubeconfig ~/.kube/host --dry-run
atoll install --kubeconfig ~/.kube/host --plane-kubeconfig ~/.kube/plane
atoll install --dry-run -o yaml > atoll.yaml
"""
_LOOK_EVERY_S = 0.5
ON_PLANE = " on the plane"


@click.command(help=_HELP)
@options.kubeconfig_options("host")
@options.namespace_option("-n", "--namespace", usual=NAMESPACE, about="Where it runs.")
@options.way_options(
    "Be the plane on another API server than the host's: that of this kubeconfig.", "plane-"
)
@click.option(
    "--serve-at",
    metavar="URL",
    help="Where that API server reaches the replicas [default: https://atoll.NAMESPACE.svc].",
)
@click.option("--image", help=f"Run this image [default: {Installation().image}].")
@click.option(
    "--replicas",
    type=click.IntRange(min=1),
    default=Installation().replicas,
    show_default=True,
    help="So many serve; one of them leads.",
)
@click.option(
    "--requests",
    metavar="cpu=…,memory=…",
    help="What each replica asks for [default: cpu=100m,memory=256Mi].",
)
@click.option(
    "--limits", metavar="cpu=…,memory=…", help="What it may not exceed [default: memory=1Gi]."
)
@options.gates_option("As those of `atoll run`.")
@options.plugins_option
@click.option(
    "--network-policy/--no-network-policy",
    "with_network_policy",
    default=True,
    help="Close all ports but its own [default: yes].",
)
@click.option(
    "--service-monitor/--no-service-monitor",
    "with_service_monitor",
    default=None,
    help="Let Prometheus' operator know it [default: if the host has that kind].",
)
@click.option(
    "--wait",
    "wait_s",
    type=options.Span(bare=True),
    is_flag=False,
    flag_value="2m",
    default="0s",
    metavar="[TIME]",
    help="Wait until it runs, so long at most [default: 2m if no time is given].",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@output_option(*DATA)
def install(
    kubeconfig: str | None,
    context: str | None,
    wait_s: float,
    output: str | None,
    *,
    dry_run: bool,
    with_service_monitor: bool | None,
    **said: Any,
) -> None:
    if output and not dry_run:
        raise CommandFailed("-o goes with --dry-run", code=USAGE)
    wanted = _wanted(said)
    if output:
        # Without a host to ask, it is left out unless wished for.
        monitored = replace(wanted, with_service_monitor=bool(with_service_monitor))
        if wanted.plane:
            tell(f"Left out: what belongs on the plane, and secret/{PLANE_SECRET} with its token")
        _show(deploying.everything(monitored), output)
        return
    with ExitStack() as opened:
        plane = plane_reached(said, opened)
        host = reached(kubeconfig or usual_files(os.environ), context, opened)
        elsewhere.check(host, plane, wanted.namespace)
        wanted = _monitored(host, wanted, wish=with_service_monitor)
        if plane is not None:
            wanted = _let_in(host, plane, wanted, is_trial=dry_run)
        with speaking_to(host):
            _have(host, deploying.everything, wanted, is_trial=dry_run)
            if wait_s and not dry_run:
                _wait(host, wanted.namespace, wait_s)


def reached(files: str, context: str | None, opened: ExitStack) -> PlainClient:
    """A way to the server of a kubeconfig, for as long as the stack is open."""
    endpoint = read_kubeconfigs(files).endpoint(context, os.environ)
    return opened.enter_context(closing(PlainClient(endpoint)))


def plane_reached(said: dict[str, Any], opened: ExitStack) -> PlainClient | None:
    """The way to a plane elsewhere; None if the host is the plane."""
    files, context = said["plane_kubeconfig"], said["plane_context"]
    if files is None and context:
        raise CommandFailed("--plane-context goes with --plane-kubeconfig", code=USAGE)
    return None if files is None else reached(files, context, opened)


def _wanted(said: dict[str, Any]) -> Installation:
    usual = Installation()
    requests = _amounts("--requests", said["requests"], usual.resources.requests)
    limits = _amounts("--limits", said["limits"], usual.resources.limits)
    gates, plugins = said["feature_gates"], said["plugins"]
    words = [f"--feature-gates={gates}"] if gates else []
    words += [f"--plugins={plugins}"] if plugins != ALL_PLUGINS else []
    return replace(
        usual,
        namespace=said["namespace"],
        image=said["image"] or usual.image,
        replicas=said["replicas"],
        resources=Resources(requests, limits),
        words=tuple(words),
        with_network_policy=said["with_network_policy"],
        plane=_plane(said),
    )


def _plane(said: dict[str, Any]) -> Plane | None:
    """Where replicas are reached by another API server; None if the host's own is meant."""
    url = said["serve_at"]
    if said["plane_kubeconfig"] is None:
        if url:
            raise CommandFailed("--serve-at goes with --plane-kubeconfig", code=USAGE)
        return None
    return Plane(Place(said["namespace"], url or f"https://{NAME}.{said['namespace']}.svc").url)


def _amounts(option: str, written: str | None, usual: Mapping[str, str]) -> Mapping[str, str]:
    if written is None:
        return usual
    found = re.findall(r"([^=,]+)=([^=,]+)(?:,|$)", written)
    if ",".join(map("=".join, found)) != written:
        what = f'{option} "{written}" cannot be read'
        raise CommandFailed(what, "", f"{option} cpu=100m,memory=256Mi", code=USAGE)
    return dict(found)


def _show(objects: list[Wire], output: str) -> None:
    if output == JSON:
        show_data(listed(objects), JSON)
        return
    for each in objects:
        show("---")
        show_data(each, YAML)


def _monitored(host: PlainClient, wanted: Installation, *, wish: bool | None) -> Installation:
    """What is wanted, with a ServiceMonitor if that is wished for or, without a wish, possible."""
    with speaking_to(host):
        known = deploying.has_service_monitors(host)
    if wish and not known:
        why = f"{host.endpoint} does not know the kind"
        raise CommandFailed("there can be no ServiceMonitor", why, "--no-service-monitor")
    return replace(wanted, with_service_monitor=known if wish is None else wish)


def _let_in(
    host: PlainClient, plane: PlainClient, wanted: Installation, *, is_trial: bool
) -> Installation:
    """Have a plane elsewhere let the replicas in; what is wanted, with the way there."""
    assert wanted.plane is not None, "it is elsewhere"
    if urlsplit(plane.endpoint.server).hostname in LOOPBACK:
        tell(f"Note: replicas look for {plane.endpoint.server} on their own machine")
    with speaking_to(host):
        # Who may not write there is to leave nothing on the plane either.
        deploying.try_wide(host, deploying.everything(wanted))
    with speaking_to(plane):
        _have(plane, deploying.everything_on_plane, wanted, where=ON_PLANE, is_trial=is_trial)
        way = elsewhere.way_to(plane, wanted, wanted.plane.url, is_trial=is_trial)
    return replace(wanted, plane=way)


def _have(
    server: PlainClient,
    objects_of: Callable[[Installation], list[Wire]],
    wanted: Installation,
    *,
    where: str = "",
    is_trial: bool,
) -> None:
    """Make what is wanted, take away what no longer is, and tell it."""
    most = replace(wanted, with_network_policy=True, with_service_monitor=True)
    objects, note = objects_of(wanted), " (dry run)" if is_trial else ""
    made = deploying.deploy(server, objects, is_trial=is_trial)
    for change in chain(
        made, deploying.retire(server, objects, objects_of(most), is_trial=is_trial)
    ):
        show(f"{change}{where}{note}")


def _wait(host: PlainClient, namespace: str, wait_s: float) -> None:
    began, told = time.monotonic(), ""
    while missing := deploying.still_missing(host, namespace):
        if missing != told:
            tell(f"Waiting: {missing}")
            told = missing
        if time.monotonic() - began > wait_s:
            attempt = f"kubectl --namespace {namespace} describe pods"
            raise CommandFailed(f"not within {wait_s:g} s: {missing}", "", attempt, code=TIMEOUT)
        time.sleep(_LOOK_EVERY_S)
    show(f"atoll runs in {namespace}")
