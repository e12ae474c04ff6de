"""Messages between the harness and the model's process: a JSON object and raw bytes, each with its length before it.

They go through pipes of their own, because the runtime writes whatever it likes to stdout and stderr.
"""

from __future__ import annotations

import json
import os
import struct
from typing import Any

HEAD = struct.Struct("!IQ")
LARGEST_JSON = 4 << 20
LARGEST_PAYLOAD = 1 << 30
LARGEST_ANSWER = 64 << 20
"""For a batch's outputs: a process that a model has broken may announce any length."""

REASON_CHARACTERS = 300
"""Of the runtime's reason to refuse a model."""

Message = dict[str, Any]


class BrokenFrameError(Exception):
    """The bytes are not a message."""


def packed(message: Message, payload: bytes | memoryview = b"") -> list[bytes | memoryview]:
    """Return the parts of a message as they go through the pipe, without copying the payload."""
    text = json.dumps(message).encode()
    return [HEAD.pack(len(text), len(payload)) + text, payload]


def lengths(head: bytes, largest: int = LARGEST_PAYLOAD) -> tuple[int, int]:
    """Return the lengths of JSON and payload. Raises BrokenFrameError if they are not sensible."""
    text, payload = HEAD.unpack(head)
    if text > LARGEST_JSON or payload > largest:
        raise BrokenFrameError(f"a message of {text} and {payload} bytes")
    return text, payload


def parsed(text: bytes | bytearray) -> Message:
    """Return the JSON object. Raises BrokenFrameError for anything else."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenFrameError(str(error)) from error
    if not isinstance(message, dict):
        raise BrokenFrameError(f"{type(message).__name__} instead of an object")
    return message


def receive(descriptor: int) -> tuple[Message, bytearray] | None:
    """Wait for a message; None when the other side is gone. Raises BrokenFrameError for anything else."""
    head = _exactly(descriptor, HEAD.size)
    if head is None:
        return None
    text_length, payload_length = lengths(bytes(head))
    text, payload = _exactly(descriptor, text_length), _exactly(descriptor, payload_length)
    return None if text is None or payload is None else (parsed(text), payload)


def send(descriptor: int, message: Message, payload: bytes | memoryview = b"") -> None:
    """Write a message, in as many writes as it takes."""
    for part in packed(message, payload):
        left = memoryview(part)
        while left:
            left = left[os.write(descriptor, left) :]


def _exactly(descriptor: int, length: int) -> bytearray | None:
    content = bytearray(length)
    view, got = memoryview(content), 0
    while got < length:
        count = os.readv(descriptor, [view[got:]])
        if not count:
            return None
        got += count
    return content
