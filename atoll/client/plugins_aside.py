"""Asking a credential plug-in while others run, for the client that lives in an event loop."""

import asyncio

from atoll.client.endpoint import Endpoint
from atoll.client.identity import Credential
from atoll.client.plugins import call_of, not_there, plugin_of, read_answer, too_late


async def ask_aside(endpoint: Endpoint, patience_s: float | None = None) -> Credential:
    """The same, while others run; nobody is at the terminal of a server."""
    plugin = plugin_of(endpoint)
    call = call_of(endpoint, plugin, patience_s, is_alone=True)
    try:
        process = await asyncio.create_subprocess_exec(
            *call.words,
            env=call.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise not_there(endpoint, plugin, error) from error
    try:
        async with asyncio.timeout(call.patience_s):
            out, said = await process.communicate()
    except TimeoutError as error:
        raise too_late(endpoint, plugin, call) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return read_answer(endpoint, plugin, process.returncode or 0, out, said)
