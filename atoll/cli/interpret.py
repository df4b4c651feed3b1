"""`atoll interpret`: try a ResourceInterpreterCustomization without a server."""

from pathlib import Path

import click

from atoll.cli.failing import ERROR
from atoll.cli.printing import show, tell_error

OPERATIONS = (
    *("InterpretReplica", "InterpretComponent", "ReviseReplica", "Retain", "AggregateStatus"),
    *("InterpretStatus", "InterpretHealth", "InterpretDependency"),
)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(help="Run or check the scripts of customizations on objects from files.")
@click.option(
    "-f", "--filename", "files", type=_FILE, multiple=True, required=True, help="Customizations."
)
@click.option("--check", is_flag=True, help="Only say whether all scripts have their functions.")
@click.option("--operation", type=click.Choice(OPERATIONS), help="What to ask.")
@click.option("--observed", "--observed-file", "observed", type=_FILE, help="As in a member.")
@click.option("--desired", "--desired-file", "desired", type=_FILE, help="As in the plane.")
@click.option(
    "--status", "--status-file", "statuses", type=_FILE, help="AggregateStatus: clusters' reports."
)
@click.option(
    "--desired-replica", type=click.IntRange(min=0), help="ReviseReplica: how many there shall be."
)
def interpret(
    files: tuple[Path, ...],
    *,
    check: bool,
    operation: str | None,
    observed: Path | None,
    desired: Path | None,
    statuses: Path | None,
    desired_replica: int | None,
) -> int:
    # Scripts need packages that the other commands must not wait for.
    from atoll.cli.customizations import Asked, answered, checked, read

    customizations = read(files)
    if check:
        good, bad = checked(customizations)
        for line in good:
            show(line)
        for line in bad:
            tell_error(line)
        return ERROR if bad else 0
    if operation is None:
        raise click.UsageError("give --operation, or --check")
    asked = Asked(operation, desired, observed, statuses, desired_replica)
    show(answered(customizations, asked).rstrip("\n"))
    return 0
