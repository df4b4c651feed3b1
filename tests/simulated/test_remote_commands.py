"""Commands in simulated pods: the protocol around them, and what they answer."""

import asyncio
import itertools
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.apiserver.status import ApiError
from atoll.exchange import Request
from atoll.simulated import shell
from atoll.simulated.commands import remote_command
from atoll.simulated.websocket import Broken, Message, Messages, Opcode, frame

AROUND = shell.Surroundings("web-0", lambda: "now", {"COLOUR": "green"})
OFFER = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-protocol": "v5.channel.k8s.io, v4.channel.k8s.io",
}


def masked(
    opcode: int, content: bytes, *, final: bool = True, mask: bytes = b"\x07\xa0\x33\xff"
) -> bytes:
    """A frame as clients write it."""
    whole = bytearray(frame(Opcode.BINARY, content))
    whole[0] = (0x80 if final else 0) | opcode
    whole[1] |= 0x80
    head = len(whole) - len(content)
    hidden = bytes(each ^ mask[index % 4] for index, each in enumerate(content))
    return bytes(whole[:head]) + mask + hidden


@given(
    contents=st.lists(st.binary(max_size=300), max_size=4),
    cuts=st.lists(st.integers(0, 2000), max_size=6),
    split=st.booleans(),
)
def test_messages_come_out_whole_however_their_bytes_are_cut(
    contents: list[bytes], cuts: list[int], *, split: bool
) -> None:
    sent = b""
    for content in contents:
        if split:
            half = len(content) // 2
            sent += masked(Opcode.BINARY, content[:half], final=False)
            sent += masked(Opcode.PING, b"still there?")
            sent += masked(Opcode.MORE, content[half:])
        else:
            sent += masked(Opcode.BINARY, content)
    messages, found = Messages(), []
    edges = [0, *sorted(min(cut, len(sent)) for cut in cuts), len(sent)]
    for begin, end in itertools.pairwise(edges):
        found += messages.feed(sent[begin:end])
    whole = [each for each in found if each.opcode is Opcode.BINARY]
    assert whole == [Message(Opcode.BINARY, each) for each in contents]
    assert len(found) == len(contents) * (2 if split else 1)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(frame(Opcode.BINARY, b"not masked, as from a server"), id="unmasked"),
        pytest.param(masked(Opcode.MORE, b"of what?"), id="a second part without a first"),
        pytest.param(masked(5, b""), id="an unknown kind"),
        pytest.param(b"\x82\xff" + (1 << 40).to_bytes(8, "big") + b"mask", id="far too large"),
    ],
)
def test_what_is_no_websocket_is_said_to_be_none(sent: bytes) -> None:
    with pytest.raises(Broken):
        list(Messages().feed(sent))


class Client:
    """The other side: says what it has been given, and keeps what it hears by channel."""

    def __init__(self, *said: bytes) -> None:
        self._said = list(said)
        self.heard: dict[int, bytes] = {}
        self.closed = False

    async def read(self) -> bytes:
        return self._said.pop(0) if self._said else b""

    async def write(self, data: bytes) -> None:
        length, begin = data[1], 2
        if length == 126:
            length, begin = int.from_bytes(data[2:4], "big"), 4
        assert len(data) == begin + length
        if data[0] & 0x0F == Opcode.CLOSE:
            self.closed = True
        elif data[0] & 0x0F == Opcode.BINARY:
            channel = data[begin]
            self.heard[channel] = self.heard.get(channel, b"") + data[begin + 1 :]


def _run(words: Sequence[str], *said: bytes, terminal: bool = False) -> Client:
    request = Request("GET", "/exec", headers=OFFER)
    response = remote_command(request, words, AROUND, terminal=terminal)
    assert response.upgrade is not None
    assert response.headers["Sec-WebSocket-Protocol"] == "v5.channel.k8s.io"
    assert response.headers["Sec-WebSocket-Accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    client = Client(*said)
    asyncio.run(response.upgrade(client))  # type: ignore[arg-type]
    assert client.closed
    return client


@pytest.mark.parametrize(
    ("words", "output", "complaint", "code"),
    [
        pytest.param(["echo", "hello", "there"], "hello there\n", "", 0, id="echo"),
        pytest.param(["/bin/hostname"], "web-0\n", "", 0, id="by its path"),
        pytest.param(["env"], "HOSTNAME=web-0\nCOLOUR=green\n", "", 0, id="env"),
        pytest.param(["false"], "", "", 1, id="false"),
        pytest.param(["sh", "-c", "echo a; date"], "a\nnow\n", "", 0, id="a script"),
        pytest.param(["sh", "-c", "echo a; exit 3"], "a\n", "", 3, id="a script with a code"),
        pytest.param(["nginx", "-t"], "", '"nginx" is not there', 127, id="what is not there"),
    ],
)
def test_a_command_is_answered_with_its_output_and_its_code(
    words: list[str], output: str, complaint: str, code: int
) -> None:
    client = _run(words)
    assert client.heard.get(1, b"").decode() == output
    assert client.heard.get(2, b"").decode().startswith(complaint)
    result = json.loads(client.heard[3])
    assert result["status"] == ("Failure" if code else "Success")
    if code:
        assert result["details"]["causes"] == [{"reason": "ExitCode", "message": str(code)}]


def test_cat_repeats_its_input_until_that_ends() -> None:
    said = [masked(Opcode.BINARY, b"\x00one\ntw"), masked(Opcode.BINARY, b"\x00o")]
    client = _run(["cat"], *said, masked(Opcode.BINARY, b"\xff\x00"))
    assert client.heard[1] == b"one\ntwo"


def test_a_shell_on_a_terminal_prompts_echoes_and_ends_with_exit() -> None:
    client = _run(["sh"], masked(Opcode.BINARY, b"\x00hostname\rexit\r"), terminal=True)
    assert client.heard[1] == b"$ hostname\r\nexit\r\nweb-0\r\n$ "


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="no offer"),
        pytest.param({"connection": "Upgrade", "upgrade": "SPDY/3.1"}, id="another protocol"),
        pytest.param({**OFFER, "sec-websocket-protocol": "v1.chat"}, id="unknown inside"),
    ],
)
def test_what_cannot_be_spoken_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ApiError):
        remote_command(Request("GET", "/", headers=headers), ["true"], AROUND, terminal=False)
