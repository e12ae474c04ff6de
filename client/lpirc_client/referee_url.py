"""The form of a referee's URL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from lpirc_client.errors import ClientError
from lpirc_client.presence import is_file


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
        sentence = (
            f"{url!r} is not a referee's URL; write http://host:port{_perhaps(url)}"
        )
        raise ClientError("bad-url", sentence)
    return url.rstrip("/")


def _perhaps(url: str) -> str:
    """Return the URL that an incomplete one may mean, as the end of a sentence."""
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
