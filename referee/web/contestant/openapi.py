"""The interface of version 1 as an OpenAPI 3.1 document, in a file beside this module; tests hold the server to it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

FILE = "openapi.json"


@cache
def openapi_document() -> bytes:
    """The document, as JSON."""
    return files(__package__).joinpath(FILE).read_bytes()
