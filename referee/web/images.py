"""The test set's files as they are served: the bytes the manifest was made for, or a stated failure."""

from __future__ import annotations

import hashlib

from referee.errors import RefereeError
from testsets import TestSet


class ImageFiles:
    """Reads images from disk. A file is hashed when it is first served and whenever its size or time has changed."""

    def __init__(self, test_set: TestSet) -> None:
        self._test_set = test_set
        self._trusted: dict[int, tuple[int, int]] = {}

    def read(self, number: int) -> bytes:
        """The JPEG of test-set image `number` (1..N). Raises RefereeError `testset-changed`."""
        path = self._test_set.image_path(number)
        try:
            status = path.stat()
            jpeg = path.read_bytes()
        except OSError as error:
            raise self._changed(number, f"cannot be read ({error.strerror})") from error
        stamp = (status.st_size, status.st_mtime_ns)
        if self._trusted.get(number) != stamp:
            if hashlib.sha256(jpeg).hexdigest() != self._test_set.images[number - 1].sha256:
                raise self._changed(number, "is not the file that the manifest was made for")
            self._trusted[number] = stamp
        return jpeg

    def _changed(self, number: int, what: str) -> RefereeError:
        file = self._test_set.images[number - 1].file
        return RefereeError("testset-changed", f"The image file {file} {what}; tell the operator.")
