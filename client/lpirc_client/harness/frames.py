"""Messages between the harness and the model's process: a JSON object and raw bytes, each with its length before it.

They go through pipes of their own, because the runtime writes what it likes to stdout and stderr.
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
"""What a batch's outputs may take: a process that a model has broken may announce anything."""

REASON_CHARACTERS = 300
"""Of what the runtime says against a model."""

Message = dict[str, Any]


class BrokenFrameError(Exception):
    """The bytes are no message."""


def packed(message: Message, payload: bytes | memoryview = b"") -> list[bytes | memoryview]:
    """The parts of a message as they go through the pipe; never one large copy."""
    text = json.dumps(message).encode()
    return [HEAD.pack(len(text), len(payload)) + text, payload]


def lengths(head: bytes, largest: int = LARGEST_PAYLOAD) -> tuple[int, int]:
    """Lengths of JSON and payload; BrokenFrameError when they are not sensible."""
    text, payload = HEAD.unpack(head)
    if text > LARGEST_JSON or payload > largest:
        raise BrokenFrameError(f"a message of {text} and {payload} bytes")
    return text, payload


def parsed(text: bytes | bytearray) -> Message:
    """The JSON object; BrokenFrameError when it is none."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenFrameError(str(error)) from error
    if not isinstance(message, dict):
        raise BrokenFrameError(f"{type(message).__name__} instead of an object")
    return message


def receive(descriptor: int) -> tuple[Message, bytearray] | None:
    """Wait for a message; None when the other side is gone. BrokenFrameError for what is none."""
    head = _exactly(descriptor, HEAD.size)
    if head is None:
        return None
    text_length, payload_length = lengths(bytes(head))
    text, payload = _exactly(descriptor, text_length), _exactly(descriptor, payload_length)
    return None if text is None or payload is None else (parsed(text), payload)


def send(descriptor: int, message: Message, payload: bytes | memoryview = b"") -> None:
    """Write a message, however many writes it takes."""
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
