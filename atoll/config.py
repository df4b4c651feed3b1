"""What the user may choose, as one frozen value, and where everything of an instance is kept.

The only reader of environment variables; flags come in as arguments. It touches no file: whether
the places it names exist, and may be written, is found out by those who use them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 41443
ALL_PLUGINS = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """How soon the plane believes what it sees of its clusters; in seconds, by Karmada's names."""

    cluster_status_update_frequency: float = 10.0
    cluster_failure_threshold: float = 30.0  # so long it must fail before it is not ready
    cluster_success_threshold: float = 30.0  # so long it must answer before it is ready again
    cluster_lease_duration: float = 40.0
    cluster_monitor_period: float = 5.0
    cluster_monitor_grace_period: float = 40.0  # without news for so long, it is unknown
    cluster_startup_grace_period: float = 60.0  # the same, for one that has just been added
    graceful_eviction_timeout: float = 600.0
    resource_eviction_rate: float = 10.0  # so many leave a tainted cluster per second


USUAL_TIMES = Times()


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorChoice:
    """Whether the scheduler asks the estimators of clusters, and how it finds and trusts them."""

    enabled: bool = False
    timeout: float = 3.0
    namespace: str = "karmada-system"
    service_prefix: str = "karmada-scheduler-estimator"
    port: int = 10352
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    skip_verification: bool = False
    disabled_in_pull_mode: bool = False


NO_ESTIMATORS = EstimatorChoice()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditChoice:
    """Whether and where it is recorded who asked for what, by kube-apiserver's names."""

    log: Path | None = None
    policy: Path | None = None
    maxsize: int = 0  # in megabytes; 0: the usual
    maxbackup: int = 0  # 0: all are kept
    maxage: int = 0  # in days; 0: for ever


NO_AUDIT = AuditChoice()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """How much the API server does at once, by kube-apiserver's names where it has them."""

    max_requests_inflight: int = 400  # that read
    max_mutating_requests_inflight: int = 200
    max_watches_per_user: int = 1000


USUAL_REQUESTS = RequestLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogChoice:
    """How a log is written (text, json or logfmt), and how much is."""

    format: str = "text"
    verbosity: int = 0


USUAL_LOGGING = LogChoice()


@dataclass(frozen=True, slots=True, kw_only=True)
class TracingChoice:
    """Whether and where it is told how changes went from their templates to members."""

    endpoint: str = ""  # of a collector, with the path; none: nothing is told
    ratio: float = 1.0  # the part of the changes that is told
    service: str = "atoll"
    is_said: bool = False  # by flags, not by the environment


NO_TRACING = TracingChoice()
_TRACES = "/v1/traces"
_OTLP_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


class _In:
    """A file or directory of an instance, by its name in the instance's own directory."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, config: "Config", _: object = None) -> Path:
        return config.data_dir / self._name


@dataclass(frozen=True, slots=True)
class Config:
    """One instance: where its data is, and where it listens.

    `port` is None unless the user insists on one: then the instance's last port is taken if it is
    free, and any free port if not. `fleet` names the simulated members; None: those it had.
    """

    data_dir: Path
    host: str = DEFAULT_HOST
    port: int | None = None
    is_default: bool = False
    fleet: str | None = None
    feature_gates: str = ""
    """As the user wrote them: `Name=true,Other=false`."""
    plugins: str = ALL_PLUGINS
    """Which of the scheduler's plug-ins take part, as the user wrote it: `*,-Name`."""
    requests: RequestLimits = USUAL_REQUESTS
    times: Times = USUAL_TIMES
    estimators: EstimatorChoice = NO_ESTIMATORS
    audit: AuditChoice = NO_AUDIT
    logs: LogChoice = USUAL_LOGGING
    tracing: TracingChoice = NO_TRACING
    gates: int | None = None
    """How many processes speak TLS and HTTP to clients; 0: the server itself does. None: as many
    as there are processors for."""
    record: Path | None = None
    """The file in which it is recorded what is decided, and what that follows from, if any."""

    store_file = _In("store.db")
    pki_dir = _In("pki")
    kubeconfig = _In("kubeconfig")
    port_file = _In("port")
    log_file = _In("atoll.log")
    lock_file = _In("server.lock")
    state_file = _In("server.json")
    fleet_file = _In("fleet")
    """The name of the fleet of simulated members; not there where there is none."""
    fleet_lock = _In("fleet.lock")
    """Held by the process of the simulated members."""
    fleet_note = _In("fleet.json")
    """What that process says of itself."""
    fleet_log = _In("fleet.log")

    @property
    def faults(self) -> "Config":
        """Where the door is kept at which faults of simulated members are asked for."""
        return Config(self.data_dir / "faults")

    members_dir = _In("members")

    def member(self, name: str) -> "Config":
        """Where everything of a simulated member is kept, and that it listens at the same host."""
        return Config(self.members_dir / name, self.host)

    agents_dir = _In("agents")
    """Kubeconfigs of agents that are run on this machine."""
    passing_dir = _In("passing")
    """For files that live as long as one request; emptied at every start."""

    @property
    def address(self) -> str:
        """Where a client on this machine finds the server."""
        here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"[{here}]" if ":" in here else here


def read_config(
    environment: Mapping[str, str],
    *,
    data_dir: str | None = None,
    host: str | None = None,
    port: int | None = None,
    fleet: str | None = None,
    feature_gates: str = "",
) -> Config:
    """What holds: flags, else the environment, else the defaults; ValueError if that cannot be."""
    if port is not None and not 0 <= port <= 65535:
        raise ValueError(f"there is no port {port}; ports go from 1 to 65535")
    chosen = data_dir or environment.get("ATOLL_DATA_DIR")
    return Config(
        data_dir=Path(chosen).expanduser().absolute() if chosen else _default_dir(environment),
        host=host or DEFAULT_HOST,
        port=port,
        is_default=data_dir is None,
        fleet=fleet,
        feature_gates=feature_gates,
    )


def read_tracing(
    environment: Mapping[str, str], endpoint: str | None, ratio: float, service: str
) -> TracingChoice:
    """Where traces go: flags, else what OpenTelemetry's own names say; ValueError if that is no
    address.
    """
    is_off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    usual = "" if is_off else environment.get(_OTLP_ENDPOINT, "")
    found = usual if endpoint is None else endpoint
    if not found:
        return NO_TRACING
    try:
        url = urlsplit(found)
        is_address = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:  # of the port
        is_address = False
    if not is_address or url.query or url.fragment:
        source = _OTLP_ENDPOINT if endpoint is None else "--tracing-endpoint"
        raise ValueError(f'{source}: "{found}" is no address of a collector')
    path = url.path.rstrip("/")
    return TracingChoice(
        endpoint=f"{url.scheme}://{url.netloc}{path.removesuffix(_TRACES)}{_TRACES}",
        ratio=ratio,
        service=environment.get("OTEL_SERVICE_NAME") or service,
        is_said=endpoint is not None,
    )


def _default_dir(environment: Mapping[str, str]) -> Path:
    state = environment.get("XDG_STATE_HOME", "")
    # The XDG specification wants a relative path to be ignored.
    if state.startswith("/"):
        return Path(state) / "atoll" / "default"
    home = environment.get("HOME")
    if not home:
        raise ValueError("there is no home directory to keep data in; give one with --data-dir")
    return Path(home).absolute() / ".local" / "state" / "atoll" / "default"
