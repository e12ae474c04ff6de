"""The test set's images as they are served: exactly the bytes that the manifest lists, or RefereeError."""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import zlib
from dataclasses import dataclass
from typing import NamedTuple

from lpirc_testsets import TestSet
from lpirc_testsets.folder import IMAGES
from referee.errors import RefereeError, TestSetChanged
from referee.operating_system import free_memory_bytes

logger = logging.getLogger(__name__)

MEMORY_SHARE = 4  # images may take 1/MEMORY_SHARE of the free memory
MODEST_BYTES = 512 * 2**20  # if the free memory is not known


class ImageFacts(NamedTuple):
    """The facts of an image that are needed before it is sent: its size in bytes and its CRC-32."""

    size: int
    crc32: int


@dataclass(frozen=True)
class _Trusted:
    """The size and modification time that a file had when its hash was last found correct."""

    stamp: tuple[int, int]
    facts: ImageFacts


def memory_for_images() -> int:
    """Return how many bytes of memory images may take: a share of the memory that is free now."""
    free_bytes = free_memory_bytes()
    return MODEST_BYTES if free_bytes is None else free_bytes // MEMORY_SHARE


class ImageFiles:
    """The images of a test set, kept in memory up to `memory_bytes` and read from disk beyond that.

    A file is hashed when it is first read, and again whenever its size or modification time has changed. Images in
    memory were verified when they were read.
    """

    def __init__(self, test_set: TestSet, memory_bytes: int | None = None) -> None:
        count = len(test_set.images) + 1
        folder = test_set.folder / IMAGES
        self._test_set = test_set
        self._free_bytes = memory_for_images() if memory_bytes is None else memory_bytes
        self._paths = ["", *(f"{folder}/{image.file}" for image in test_set.images)]
        self._kept: list[bytes | None] = [None] * count
        self._trusted: list[_Trusted | None] = [None] * count
        self._changes_logged: set[tuple[int, str]] = set()
        self._lock = threading.Lock()

    def read(self, number: int) -> bytes:
        """Return the JPEG of test-set image `number` (1..N). Raises RefereeError `testset-changed`."""
        return self._kept[number] or self._load(number)

    def facts(self, number: int) -> ImageFacts:
        """Return the size and CRC-32 of an image, reading it if it was not read yet.

        Raises RefereeError `testset-changed`.
        """
        trusted = self._trusted[number]
        if trusted is None:
            self._load(number)
            trusted = self._trusted[number]
        assert trusted is not None  # noqa: S101 - a load that returns has trusted
        return trusted.facts

    def preload(self) -> None:
        """Read every image once, so that no contestant waits for the disk, a hash or a checksum."""
        for number in range(1, len(self._paths)):
            try:
                self.facts(number)
            except RefereeError:
                continue  # already logged

    def _load(self, number: int) -> bytes:
        try:
            stamp, jpeg = _read_file(self._paths[number])
        except OSError as error:
            raise self._changed(number, f"cannot be read ({error.strerror})") from error
        trusted = self._trusted[number]
        if trusted is None or trusted.stamp != stamp:
            if (
                hashlib.sha256(jpeg).hexdigest()
                != self._test_set.images[number - 1].sha256
            ):
                raise self._changed(
                    number, "is not the file that the manifest was made for"
                )
            self._trusted[number] = _Trusted(
                stamp, ImageFacts(len(jpeg), zlib.crc32(jpeg))
            )
            self._keep(number, jpeg)
        return jpeg

    def _keep(self, number: int, jpeg: bytes) -> None:
        with self._lock:
            if self._kept[number] is None and len(jpeg) <= self._free_bytes:
                self._free_bytes -= len(jpeg)
                self._kept[number] = jpeg

    def _changed(self, number: int, what: str) -> RefereeError:
        """Return the error for a changed image, without the file's name, which would reveal the secret order.

        The log names the file, once.
        """
        if (number, what) not in self._changes_logged:
            self._changes_logged.add((number, what))
            logger.error(
                "the image file %s %s", self._test_set.images[number - 1].file, what
            )
        return TestSetChanged(f"The file of this image {what}; tell the operator.")


def _read_file(path: str) -> tuple[tuple[int, int], bytes]:
    """Return ((size, modification time in ns), content) of a file.

    It uses plain system calls, which take half the time of a file object; this runs for every image.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        status = os.fstat(descriptor)
        content = os.read(descriptor, status.st_size + 1)
        while len(content) < status.st_size and (
            more := os.read(descriptor, status.st_size)
        ):
            content += more
    finally:
        os.close(descriptor)
    return (status.st_size, status.st_mtime_ns), content
