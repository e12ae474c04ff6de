"""The form that a request bears, urlencoded or with files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO

from flask import g, request
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import FormDataParser

from referee.errors import RefereeError
from referee.web.request_bodies import read_body
from referee.web.web_request import present_request

LARGEST_FORM_BYTES = 2**20
MOST_FIELDS = 500


@dataclass(frozen=True)
class Form:
    """The texts of a form by field, and the content of its files."""

    texts: Mapping[str, str]
    files: Mapping[str, bytes]

    def text(self, name: str) -> str:
        """Return the text of a field without blanks around it; blank if the form lacks it."""
        return self.texts.get(name, "").strip()


def present_form() -> Form:
    """Return the form of the present request, read once. Raises RefereeError `bad-request` and those of `read_body`."""
    found: Form | None = g.get("form")
    if found is None:
        found = g.form = _read()
    return found


def _read() -> Form:
    body = read_body(present_request(), LARGEST_FORM_BYTES)
    parser = FormDataParser(
        max_form_memory_size=LARGEST_FORM_BYTES,
        max_form_parts=MOST_FIELDS,
    )
    try:
        _, texts, files = parser.parse(
            BytesIO(body), request.mimetype, len(body), request.mimetype_params
        )
    except (ValueError, RequestEntityTooLarge) as error:
        raise RefereeError("bad-request", "The form cannot be read.") from error
    content = {name: file.read() for name, file in files.items()}
    return Form(texts.to_dict(), content)
