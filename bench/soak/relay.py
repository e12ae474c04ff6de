"""A stretch of cable: passes bytes to a port of this host, and can be cut, slow, silent, or end one side only."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

HOST = "127.0.0.1"
CHUNK_BYTES, LOOK_S = 65536, 0.02


class Relay:
    """Listens on a port of its own from the moment it is built, in a thread."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._whole, self._silent, self._delay_s = True, False, 0.0
        self._near: set[asyncio.StreamWriter] = set()
        self._far: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._connect, HOST), self._loop
        ).result()
        self.port: int = server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """Break every connection; new ones break at once."""
        self._whole = False
        self._on_all(lambda end: end.transport.abort(), near=True)

    def end_one_side(self) -> None:
        """End the near side's sending on every connection: the far side believes that the near one has gone."""
        self._on_all(lambda end: end.write_eof(), near=False)

    def hold(self) -> None:
        """Pass nothing on, with every connection up."""
        self._silent = True

    def slow(self, delay_s: float) -> None:
        """Keep each piece for so long."""
        self._delay_s = delay_s

    def mend(self) -> None:
        """Be a good cable again."""
        self._whole, self._silent, self._delay_s = True, False, 0.0

    def _on_all(self, act: Callable[[Any], None], *, near: bool) -> None:
        async def each() -> None:
            for end in [*self._far, *(self._near if near else ())]:
                with contextlib.suppress(OSError, RuntimeError):
                    act(end)

        asyncio.run_coroutine_threadsafe(each(), self._loop).result()

    async def _connect(self, near_in: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        self._near.add(near)
        far: asyncio.StreamWriter | None = None
        try:
            if self._whole:
                far_in, far = await asyncio.open_connection(HOST, self._target)
                self._far.add(far)
                await asyncio.gather(self._pass(near_in, far), self._pass(far_in, near))
        except OSError:
            pass  # cut, or nobody listens there
        finally:
            self._near.discard(near)
            near.transport.abort()
            if far is not None:
                self._far.discard(far)
                far.transport.abort()

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(CHUNK_BYTES):
            await asyncio.sleep(self._delay_s)
            while self._silent:
                await asyncio.sleep(LOOK_S)
            sink.write(data)
            await sink.drain()
        if not sink.is_closing():
            sink.write_eof()
