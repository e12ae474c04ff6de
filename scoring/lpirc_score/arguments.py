"""Checks what a program gives to the functions of the API, where a wrong type would fail far from its cause."""

from __future__ import annotations

import os
from pathlib import Path

from lpirc_score.errors import CodedError
from lpirc_testsets.values import shown

Name = str | os.PathLike[str]
"""The name of a file or folder."""


def path_of(name: Name) -> Path:
    """Return the path of a file or folder. Raises `CodedError` `bad-argument` for anything but text or a path."""
    if isinstance(name, str) and name:
        return Path(name)
    if isinstance(name, os.PathLike):
        found = os.fspath(name)
        if isinstance(found, str):
            return Path(found)
    sentence = f"{shown(name)} is not the name of a file or folder; give it as text or as a path."
    raise CodedError("bad-argument", sentence)
