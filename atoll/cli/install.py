"""`atoll install`: have the control plane run in a cluster, its host, and keep it up to date."""

import os
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from atoll.cli.failing import TIMEOUT, USAGE, CommandFailed
from atoll.cli.output import DATA, JSON, YAML, listed, output_option, show_data
from atoll.cli.printing import show, tell
from atoll.cli.timing import Span
from atoll.client.kubeconfig import kubeconfig_text, read_kubeconfigs, usual_files
from atoll.client.plain import PlainClient, Wire
from atoll.hosting import deploying
from atoll.hosting.installation import NAME, NAMESPACE, Installation, Plane, Resources
from atoll.members.objects import speaking_to

_HELP = """Install the control plane in a cluster, or bring it up to date there.

The cluster is the plane's host: users keep their workloads and policies in it, and replicas of
`atoll run` look after them. Everything that is made is told. Doing it again changes only what
differs, so this is the way to upgrade, too. What it needs of the host beside, its kinds, its API
and its webhooks, it makes itself once it runs.

\b
atoll install --kubeconfig ~/.kube/host --image registry/atoll:1.0 --wait
atoll install --kubeconfig ~/.kube/host --dry-run
atoll install --kubeconfig ~/.kube/host --plane-kubeconfig ~/.kube/plane
atoll install --dry-run -o yaml > atoll.yaml
"""
_LOOK_EVERY_S = 0.5


@click.command(help=_HELP)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    help="Where the host is described [default: $KUBECONFIG, else ~/.kube/config].",
)
@click.option("--context", metavar="NAME", help="Its context [default: the current one].")
@click.option("-n", "--namespace", default=NAMESPACE, show_default=True, help="Where it runs.")
@click.option(
    "--plane-kubeconfig",
    metavar="FILE",
    help="Be the plane on another API server than the host's: that of this kubeconfig.",
)
@click.option("--plane-context", metavar="NAME", help="Its context [default: the current one].")
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
@click.option(
    "--feature-gates", metavar="NAME=true,...", default="", help="As those of `atoll run`."
)
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
    type=Span(bare=True),
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
        _show(deploying.everything(monitored), output)
        return
    files = read_kubeconfigs(kubeconfig or usual_files(os.environ))
    host = PlainClient(files.endpoint(context, os.environ))
    try:
        with speaking_to(host):
            _install(host, wanted, with_monitor=with_service_monitor, is_trial=dry_run)
            if wait_s and not dry_run:
                _wait(host, wanted.namespace, wait_s)
    finally:
        host.close()


def _wanted(said: dict[str, Any]) -> Installation:
    usual = Installation()
    requests = _amounts("--requests", said["requests"], usual.resources.requests)
    limits = _amounts("--limits", said["limits"], usual.resources.limits)
    gates = said["feature_gates"]
    return replace(
        usual,
        namespace=said["namespace"],
        image=said["image"] or usual.image,
        replicas=said["replicas"],
        resources=Resources(requests, limits),
        words=(f"--feature-gates={gates}",) if gates else (),
        with_network_policy=said["with_network_policy"],
        plane=_plane(said),
    )


def _plane(said: dict[str, Any]) -> Plane | None:
    """The way to another API server, in one piece; None if the host's own is meant."""
    files, url = said["plane_kubeconfig"], said["serve_at"]
    if files is None and (url or said["plane_context"]):
        raise CommandFailed("--serve-at and --plane-context go with --plane-kubeconfig", code=USAGE)
    if files is None:
        return None
    endpoint = read_kubeconfigs(files).endpoint(said["plane_context"])
    if endpoint.plugin or endpoint.token_file or not (endpoint.key or endpoint.token):
        why = "a pod needs a certificate or a token that is in it, or in a file it names"
        raise CommandFailed(f"{endpoint} cannot be used from a pod", why)
    text = kubeconfig_text("plane", NAME, "plane", endpoint)
    return Plane(url or f"https://{NAME}.{said['namespace']}.svc", text)


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


def _install(
    host: PlainClient, wanted: Installation, *, with_monitor: bool | None, is_trial: bool
) -> None:
    deploying.check_host(host, wanted.namespace)
    known = deploying.has_service_monitors(host)
    if with_monitor and not known:
        why = f"{host.endpoint} does not know the kind"
        raise CommandFailed("there can be no ServiceMonitor", why, "--no-service-monitor")
    monitored = known if with_monitor is None else with_monitor
    wanted = replace(wanted, with_service_monitor=monitored)
    objects = deploying.everything(wanted)
    note = " (dry run)" if is_trial else ""
    for change in deploying.deploy(host, objects, is_trial=is_trial):
        show(f"{change}{note}")
    for change in deploying.retire(host, objects, wanted.namespace, is_trial=is_trial):
        show(f"{change}{note}")


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
