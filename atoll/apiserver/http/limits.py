"""How much one client may take: sizes, times and counts, each with its default, in one place.

Every limit protects the others from one: a client that sends slowly, sends too much, or does not
read, loses its own connection and nothing else.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    header_bytes_max: int = 64 * 1024  # of one request: its line and its headers, or its trailers
    body_bytes_max: int = 3 * 1024 * 1024  # as kube-apiserver; more is answered 413
    pipelined_max: int = 64  # requests read ahead before reading pauses
    pipelined_at_once_max: int = 1024  # requests in one read; then the connection ends
    connections_max: int = 4096  # one more ends the one idle for longest; if none is: 503
    handshake_s: float = 10.0  # for the whole TLS handshake
    headers_s: float = 32.0  # from the first byte of a request to the end of its headers
    body_s: float = 60.0  # from the end of the headers to the end of the body
    idle_s: float = 120.0  # between two requests, and before the first
    write_stall_s: float = 60.0  # without the client reading anything
    linger_s: float = 0.5  # to read on after a refusal, so that a client that still sends sees it
    farewell_s: float = 1.0  # for the client to confirm the end of TLS when we close
    write_buffer_bytes: int = 64 * 1024  # what waits for a slow reader before its stream pauses
    shutdown_s: float = 5.0  # for answers under way when the server stops
