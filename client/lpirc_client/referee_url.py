"""The form of a referee's URL."""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from urllib.parse import urlsplit

from lpirc_client.errors import ClientError
from lpirc_client.presence import is_file

PORT = re.compile(r"(?:\w+://)?[^/]*:([0-9]{5,20})(?:/|$)")
"""A URL's port that may be too large, with or without a scheme before it."""

SLIP = re.compile(r"(https?)[:/]+", re.IGNORECASE)
"""A scheme whose colon and slashes are too few or too many."""

LARGEST_PORT = 65535


def is_url(text: str) -> bool:
    """Return True if a text is a valid URL of a referee: `http` or `https`, with a host."""
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
        )
    except ValueError:
        return False


def require_url(url: str) -> str:
    """Return the URL without a slash at its end. Raises ClientError `bad-url` unless it is a referee's."""
    if not is_url(url):
        sentence = f"{url!r} is not a referee's URL; {_correction(url)}"
        raise ClientError("bad-url", sentence)
    return url.rstrip("/")


def _correction(url: str) -> str:
    """Return what is wrong with the port, or the form to write."""
    port = PORT.match(url)
    if port is not None and int(port[1]) > LARGEST_PORT:
        return f"the port {int(port[1])} is more than {LARGEST_PORT}"
    return f"write http://host:port{_perhaps(url)}"


def _perhaps(url: str) -> str:
    """Return the URL that an incomplete one may mean, as the end of a sentence."""
    slip = SLIP.match(url)
    if slip is not None:
        completed = f"{slip[1].lower()}://{url[slip.end() :]}"
        return f", such as {completed}" if is_url(completed) else ""
    scheme, has_scheme, rest = url.partition("://")
    completed = f"http://{rest if has_scheme else scheme}"
    looks_like_host = ":" in scheme or "." in scheme or scheme == "localhost"
    is_file_name = Path(scheme).suffix in (".csv", ".json", ".txt")
    if not is_url(completed) or is_file_name or not (has_scheme or looks_like_host):
        return ""
    return f", such as {completed}"


def require_certificate(ca_cert: str | None, url: str) -> None:
    """Raise ClientError `bad-ca-cert` unless the file of a certificate is there, and of use; None: none is given."""
    if ca_cert is not None and url.startswith("http://"):
        sentence = f"{url} is not encrypted, so --ca-cert {ca_cert} does nothing: write https://, or leave it out"
        raise ClientError("bad-ca-cert", sentence)
    if ca_cert is not None and not is_file(Path(ca_cert)):
        sentence = f"{ca_cert}: there is no such file, so no certificate to trust"
        raise ClientError("bad-ca-cert", sentence)
    if ca_cert is not None:
        _require_pem(ca_cert)


def _require_pem(ca_cert: str) -> None:
    """Raise ClientError `bad-ca-cert` unless the file holds a certificate that can be trusted."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(ca_cert)
    except ssl.SSLError as error:
        sentence = f"{ca_cert} holds no certificate in PEM form"
        raise ClientError("bad-ca-cert", sentence) from error
    except OSError as error:
        sentence = f"{ca_cert} cannot be read: {error.strerror or error}"
        raise ClientError("bad-ca-cert", sentence) from error
