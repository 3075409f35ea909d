"""Frames on TCP connections: a JSON object and bytes behind it."""

from __future__ import annotations

import contextlib
import hmac
import json
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

_HEAD = struct.Struct("!4sIQ")
_MAGIC = b"gpud"
_MOST_TEXT, _MOST_BYTES = 1 << 24, 1 << 32

Message = dict[str, Any]


class Closed(Exception):
    """The other side has closed the connection, or what it sent is no frame."""


def encode(message: Message, content: bytes = b"") -> bytes:
    """Return the bytes of a frame."""
    text = json.dumps(message, separators=(",", ":")).encode()
    return _HEAD.pack(_MAGIC, len(text), len(content)) + text + content


class Decoder:
    """Frames of bytes as they arrive."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, received: bytes) -> Iterator[tuple[Message, bytes]]:
        """Take bytes; return the frames that they complete."""
        self._bytes += received
        while (frame := self._next()) is not None:
            yield frame

    def missing(self) -> int:
        """Return how many bytes the frame that has begun lacks at least."""
        if len(self._bytes) < _HEAD.size:
            return _HEAD.size - len(self._bytes)
        _, text, content = _HEAD.unpack_from(self._bytes)
        return int(_HEAD.size + text + content - len(self._bytes))

    def _next(self) -> tuple[Message, bytes] | None:
        if len(self._bytes) < _HEAD.size:
            return None
        magic, text, content = _HEAD.unpack_from(self._bytes)
        if magic != _MAGIC or text > _MOST_TEXT or content > _MOST_BYTES:
            raise Closed
        start, end = _HEAD.size + text, _HEAD.size + text + content
        if len(self._bytes) < end:
            return None
        frame = _object(bytes(self._bytes[_HEAD.size : start]))
        behind = bytes(self._bytes[start:end])
        del self._bytes[:end]
        return frame, behind


def _object(text: bytes) -> Message:
    try:
        message = json.loads(text)
    except ValueError:
        raise Closed from None
    if not isinstance(message, dict):
        raise Closed
    return message


def tune(connection: socket.socket) -> socket.socket:
    """Send small frames at once, and notice a machine that has gone; return it."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, seconds in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)
    return connection


def listen(host: str, port: int, ranks: int) -> socket.socket:
    """Return a socket that listens; ``port=0`` is any, ``host=""`` every interface."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(ranks + 8)
    except OSError:
        listener.close()
        raise
    return listener


def left(deadline: float) -> float:
    """Return the seconds until a deadline of ``time.monotonic()``, more than 0."""
    return max(1e-3, deadline - time.monotonic())


def receive(connection: socket.socket, deadline: float) -> tuple[Message, bytes]:
    """Return the next frame. Raises TimeoutError at the deadline, and Closed."""
    decoder, wanted = Decoder(), _HEAD.size
    while True:
        if time.monotonic() >= deadline:
            raise TimeoutError
        connection.settimeout(left(deadline))
        received = connection.recv(wanted)  # never more than this frame
        if not received:
            raise Closed
        for frame in decoder.feed(received):
            return frame
        wanted = decoder.missing()


def same(given: Any, token: str) -> bool:
    """Return True if a frame's token is that of the job."""
    return isinstance(given, str) and hmac.compare_digest(given, token)


def own_addresses() -> list[str]:
    """Return the addresses by which other machines may reach this one, best first."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: picks the interface
            found.append(probe.getsockname()[0])
        except OSError:
            pass
    with contextlib.suppress(OSError):
        found += socket.gethostbyname_ex(socket.gethostname())[2]
    return [*dict.fromkeys(a for a in found if not a.startswith("127."))]
