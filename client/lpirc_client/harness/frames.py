"""Messages between the harness and the model's process: a JSON object and raw bytes, each preceded by its length.

They use separate pipes, because the runtime writes arbitrary text to stdout and stderr.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any

HEAD = struct.Struct("!IQ")
LARGEST_JSON = 4 << 20
LARGEST_PAYLOAD = 1 << 30
PIPE_BYTES = 1 << 20

REASON_CHARACTERS = 300
"""Characters kept of the reason that the runtime gives for refusing a model."""

Message = dict[str, Any]
Wait = Callable[[int, int], object]
"""Called with descriptor and event before each system call on a non-blocking pipe; may raise."""


class BrokenFrameError(Exception):
    """The bytes are not a message."""


def receive(
    descriptor: int,
    largest: int = LARGEST_PAYLOAD,
    wait: Wait = lambda *_: None,
) -> tuple[Message, bytearray] | None:
    """Wait for a message; return None if the other side has closed the pipe.

    Raises BrokenFrameError for malformed bytes, and for a payload of more than `largest` bytes.
    """
    head = _exactly(descriptor, HEAD.size, wait)
    if head is None:
        return None
    text_length, payload_length = HEAD.unpack(head)
    if text_length > LARGEST_JSON or payload_length > largest:
        raise BrokenFrameError(
            f"a message with {text_length} bytes of text and {payload_length} bytes of payload is too large"
        )
    text = _exactly(descriptor, text_length, wait)
    payload = _exactly(descriptor, payload_length, wait)
    return None if text is None or payload is None else (_parsed(text), payload)


def send(
    descriptor: int,
    message: Message,
    payload: bytes | memoryview = b"",
    wait: Wait = lambda *_: None,
) -> None:
    """Write a message, in as many writes as it takes, without copying the payload."""
    text = json.dumps(message).encode()
    for part in (HEAD.pack(len(text), len(payload)) + text, payload):
        left = memoryview(part)
        while left:
            wait(descriptor, EVENT_WRITE)
            with suppress(BlockingIOError):
                left = left[os.write(descriptor, left[:PIPE_BYTES]) :]


def _parsed(text: bytearray) -> Message:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenFrameError(str(error)) from error
    if not isinstance(message, dict):
        raise BrokenFrameError(f"{type(message).__name__} instead of an object")
    return message


def _exactly(
    descriptor: int,
    length: int,
    wait: Wait,
) -> bytearray | None:
    content = bytearray(length)
    view = memoryview(content)
    got = 0
    while got < length:
        wait(descriptor, EVENT_READ)
        with suppress(BlockingIOError):
            count = os.readv(descriptor, [view[got : got + PIPE_BYTES]])
            if not count:
                return None
            got += count
    return content
