"""Connections that are closed when their client takes too long to send a request, or sends one that is no HTTP.

uvicorn waits for the head of a request as long as it takes, so a thousand silent clients would keep everyone else
out. Here each connection has a time to send the next head; the time to send a body is the application's affair.
"""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["impatient"]

LARGEST_HEAD = 1 << 16  # bytes


def impatient(seconds: float) -> type[HttpToolsProtocol]:
    """Return a protocol for uvicorn that waits so long for the head of a request."""

    class Impatient(HttpToolsProtocol):
        """HTTP with a limit on how long, and how large, the head of a request may be."""

        def connection_made(self, transport: Transport) -> None:
            super().connection_made(transport)
            self._head_bytes = 0
            self._deadline: TimerHandle | None = None
            self._expect_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._head_bytes = self._head_bytes + len(data) if self._deadline is not None else 0
            if self._head_bytes > LARGEST_HEAD and not self.transport.is_closing():
                self.transport.close()

        def on_message_begin(self) -> None:
            if self._deadline is None:
                self._expect_head()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._cancel()
            super().on_headers_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel()
            super().connection_lost(exc)

        def _expect_head(self) -> None:
            self._head_bytes = 0
            self._deadline = self.loop.call_later(seconds, self._give_up)

        def _give_up(self) -> None:
            self._deadline = None
            if not self.transport.is_closing():
                self.transport.close()

        def _cancel(self, *_: Any) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Impatient
