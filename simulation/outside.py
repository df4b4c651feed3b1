"""What a simulated event loop refuses: everything that would reach outside the simulation.

Threads, sockets, pipes, processes and signals happen when the machine pleases, so a run that used
them could not be repeated. Each refusal says what to use instead.
"""

import asyncio
from typing import Any, NoReturn

THREADS = "a thread runs when the machine pleases; hand in a part that computes on the loop"
NETWORK = "there is no network in here; hand in a transport that carries requests in process"
PROCESSES = "there are no processes in here; hand in a part that computes on the loop"
SIGNALS = "the simulation has no signals; stop the plane by calling its stop()"


class OutsideReached(RuntimeError):
    """The simulated program reached for something that cannot be repeated from a seed."""


def _refusing(what: str, why: str) -> Any:
    def refuse(*_args: object, **_options: object) -> NoReturn:
        raise OutsideReached(f"{what} does not work in the simulation: {why}")

    return refuse


class Enclosed(asyncio.AbstractEventLoop):
    """The half of an event loop that touches the outside world; all of it refuses."""

    run_in_executor = _refusing("run_in_executor", THREADS)
    set_default_executor = _refusing("set_default_executor", THREADS)

    getaddrinfo = _refusing("getaddrinfo", NETWORK)
    getnameinfo = _refusing("getnameinfo", NETWORK)
    create_connection = _refusing("create_connection", NETWORK)
    create_server = _refusing("create_server", NETWORK)
    create_unix_connection = _refusing("create_unix_connection", NETWORK)
    create_unix_server = _refusing("create_unix_server", NETWORK)
    create_datagram_endpoint = _refusing("create_datagram_endpoint", NETWORK)
    connect_accepted_socket = _refusing("connect_accepted_socket", NETWORK)
    start_tls = _refusing("start_tls", NETWORK)
    sendfile = _refusing("sendfile", NETWORK)
    add_reader = _refusing("add_reader", NETWORK)
    remove_reader = _refusing("remove_reader", NETWORK)
    add_writer = _refusing("add_writer", NETWORK)
    remove_writer = _refusing("remove_writer", NETWORK)
    sock_recv = _refusing("sock_recv", NETWORK)
    sock_recv_into = _refusing("sock_recv_into", NETWORK)
    sock_recvfrom = _refusing("sock_recvfrom", NETWORK)
    sock_recvfrom_into = _refusing("sock_recvfrom_into", NETWORK)
    sock_sendall = _refusing("sock_sendall", NETWORK)
    sock_sendto = _refusing("sock_sendto", NETWORK)
    sock_connect = _refusing("sock_connect", NETWORK)
    sock_accept = _refusing("sock_accept", NETWORK)
    sock_sendfile = _refusing("sock_sendfile", NETWORK)

    connect_read_pipe = _refusing("connect_read_pipe", PROCESSES)
    connect_write_pipe = _refusing("connect_write_pipe", PROCESSES)
    subprocess_shell = _refusing("subprocess_shell", PROCESSES)
    subprocess_exec = _refusing("subprocess_exec", PROCESSES)

    add_signal_handler = _refusing("add_signal_handler", SIGNALS)
    remove_signal_handler = _refusing("remove_signal_handler", SIGNALS)
