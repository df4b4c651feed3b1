"""`atoll register`: have a cluster's agent come to the plane by itself."""

import os
import shlex
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from atoll.cli import options
from atoll.cli.choosing import chosen
from atoll.cli.failing import USAGE, CommandFailed, unusable
from atoll.cli.printing import show, tell
from atoll.client.kubeconfig import Kubeconfig, read_kubeconfigs, usual_files
from atoll.client.plain import PlainClient
from atoll.client.private_file import write_private
from atoll.dialects.karmada import names
from atoll.members import registering
from atoll.members.agent_home import Housing
from atoll.members.registering import Registration
from atoll.members.trusting import Invitation

_HELP = """Register a cluster that pulls: its agent comes to the plane, which never speaks to it.

ADDRESS is that of the plane, HOST:PORT. The plane is trusted by the token and the hash that
`atoll token create --print-register-command` prints there. In the plane the agent gets the rights
of exactly this cluster; in the cluster it gets an account and its way to the plane. With
--agent-image a Deployment runs it there; without, the command that runs it is printed. Registering
again by the same name completes or renews what is there.

\b
atoll register 10.0.0.1:41443 --token … --discovery-token-ca-cert-hash sha256:… --cluster-name edge
atoll register … --cluster-name edge --kubeconfig edge.yaml --context edge --cluster-region eu
"""


@click.command(help=_HELP)
@click.argument("address")
@click.option("--token", default="", help="The token that the plane's administrator made.")
@click.option(
    "--discovery-token-ca-cert-hash",
    "pins",
    multiple=True,
    callback=options.listed,
    metavar="sha256:HEX",
    help="Of the plane's certificate authority; with commas between several.",
)
@click.option(
    "--discovery-token-unsafe-skip-ca-verification",
    "is_unpinned",
    is_flag=True,
    help="Do without the hash, and believe whoever knows the token.",
)
@options.duration_option(
    "--discovery-timeout", "5s", "How long to wait for the plane to sign for the token.", bare=True
)
@click.option("--cluster-name", help="Its name in the plane [default: that in the kubeconfig].")
@options.kubeconfig_options("cluster")
@options.agent_namespace_option
@options.cluster_namespace_option("Where the agent's Secrets are in the plane.")
@options.place_options
@options.proxy_option
@click.option(
    "--cert-expiration-seconds",
    type=click.IntRange(min=600),
    default=registering.YEAR_S,
    show_default=True,
    help="How long the agent's certificate is good for; it is renewed in time.",
)
@click.option(
    "--agent-image",
    "--karmada-agent-image",
    "image",
    default="",
    help="Run the agent in the cluster by this image, which has `atoll` on its path.",
)
@click.option(
    "--agent-kubeconfig",
    metavar="FILE",
    help="Where the agent's kubeconfig is written, if it does not run in the cluster.",
)
@click.option("--dry-run", is_flag=True, help="Only check, and say what would be done.")
def register(
    address: str,
    token: str,
    pins: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
    *,
    cluster_name: str | None,
    is_unpinned: bool,
    dry_run: bool,
    agent_kubeconfig: str | None,
    **said: Any,
) -> None:
    if not token:
        attempt = "--token, as `atoll token create` in the plane prints it"
        raise CommandFailed("a token is needed", "", attempt, code=USAGE)
    if not pins and not is_unpinned:
        why = "without it an impostor could answer"
        attempt = "--discovery-token-ca-cert-hash, as `atoll token create` prints it"
        raise CommandFailed("a hash is needed", why, attempt, code=USAGE)
    invitation = Invitation(address, token, pins, said["discovery_timeout"])
    theirs = read_kubeconfigs(kubeconfig or usual_files(os.environ))
    name = cluster_name or _usual_name(theirs, context)
    member = PlainClient(theirs.endpoint(context, os.environ))
    described = _description(said)
    in_cluster = [f"--cluster-api-endpoint={member.endpoint.server}"]
    in_cluster += [f"--{key}={value}" for key, value in described.items()]
    registration = Registration(
        name,
        Housing(said["namespace"], said["image"], tuple(in_cluster)),
        said["cluster_namespace"],
        said["cert_expiration_seconds"],
    )
    with closing(member):
        if dry_run:
            _say_plan(invitation, member, registration)
            return
        text = registering.register(invitation, member, registration, time.sleep)
    show(f"cluster({name}) is registered")
    if not registration.housing.image:
        path = _written(agent_kubeconfig, name, text)
        files = os.pathsep.join(str(each.absolute()) for each in theirs.files)
        way = {"kubeconfig": files, "context": context or theirs.current}
        tell("Its agent is not running yet. Run it where it reaches both, for example here:")
        show(_command(name, path, {**way, **described}))


def _usual_name(kubeconfig: Kubeconfig, context: str | None) -> str:
    """What the kubeconfig calls the cluster, as karmadactl has it."""
    entry = kubeconfig.contexts.get(context or kubeconfig.current)
    return str(entry.fields.get("cluster") or "") if entry is not None else ""


def _description(said: dict[str, Any]) -> dict[str, str]:
    told = {
        "cluster-provider": said["cluster_provider"],
        "cluster-region": said["cluster_region"],
        "cluster-zones": ",".join(said["cluster_zones"]),
        "proxy-server-address": said["proxy_server_address"],
    }
    if said["cluster_namespace"] != names.CLUSTER_NAMESPACE:
        told["cluster-namespace"] = said["cluster_namespace"]
    if said["namespace"] != names.SYSTEM_NAMESPACE:
        told["karmada-kubeconfig-namespace"] = said["namespace"]
    return {key: value for key, value in told.items() if value}


def _say_plan(invitation: Invitation, member: PlainClient, registration: Registration) -> None:
    plane = registering.check(invitation, member, registration, time.sleep)
    show(f"Would register {member.endpoint.server} as {registration.name} at {plane.server}")
    for where, objects in zip(("member", "plane"), registration.objects(), strict=True):
        for each in objects:
            show(f"  in the {where}: {each}")


def _written(named: str | None, name: str, text: str) -> Path:
    config = chosen(None)
    path = Path(named).absolute() if named else config.agents_dir / f"{name}.kubeconfig"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, text.encode())
    except OSError as error:
        if named is None:
            raise unusable(config, error) from error
        why = (error.strerror or str(error)).lower()
        raise CommandFailed(f"cannot write {path}", why, "another --agent-kubeconfig") from error
    return path


def _command(name: str, path: Path, said: dict[str, str]) -> str:
    words = ["atoll", "agent", "--cluster-name", name, "--karmada-kubeconfig", str(path)]
    for key, value in said.items():
        words += [f"--{key}", value]
    return shlex.join(words)
