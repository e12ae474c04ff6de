"""The form of a referee's URL."""

from __future__ import annotations

import re
import ssl
import unicodedata
from contextlib import suppress
from ipaddress import IPv6Address
from pathlib import Path
from urllib.parse import urlsplit

from lpirc_client.errors import ClientError
from lpirc_client.presence import is_file, is_folder

FORM = "write http://host:port"

SCHEME = re.compile(
    r"(?:[^/?#]*\W)?(?:https?[:/]+)*(https?)(?:[:/]*/+|:)|\w+:/+|[a-z]+:(?=\d+\.)",
    re.IGNORECASE,
)
"""A scheme with what stands before it; its colon and slashes may be too few or too many."""

IPV4_AND_PORT = re.compile(r"\[?(\d+)[.,](\d+)[.,](\d+)[.,](\d+)\W+(\d+)")
"""An IPv4 address and a port, whatever separates its numbers."""

HOST = re.compile(
    r"[\w.-]*[^\W\d][\w.-]*|(?:[0-9]{1,3}\.){3}[0-9]{1,3}|(?:[0-9]{1,3}\.){1,2}[0-9]{1,8}"
)
"""A host name, or an IPv4 address, which may be short, as 127.1 is."""

LONGEST_HOST = 253

LABELS = re.compile(r"(?:[\w-]{1,63}\.)*[\w-]{1,63}\.?")
"""The parts of a host name, of which none is empty or too long."""

HOST_AND_PORT = re.compile(r"[\w.-]+:[0-9]+")

AROUND = " \t\r\n\u200b\ufeff\"'`<>.,;/"
"""Characters that a copied URL may have before or after it."""

BEFORE_HOST = re.compile(
    r"(\W*https?:[/\\]*)?.*[@\ufe6b\uff20]", re.IGNORECASE | re.DOTALL
)
"""A scheme, and a user and a password, which may hold any character."""

ADDRESS = re.compile(
    r"(?:[^:/?#@]*:[/\\]+)?(?:\[[^]/?#@]*\]|[^][:/?#@]+)(?::(\d+))?(?=[/?#]|\Z)"
)
"""A scheme, a host and a port, whatever follows them; an @ behind these is none of a user and a password."""

LARGEST_PORT = 65535

LONGEST_PORT = 20
"""Digits that are read as a number, zeros before them aside."""

LONGEST_CORRECTED = 1000
"""Characters of a URL that is corrected; to search a much longer one takes too long."""


def is_url(text: str) -> bool:
    """Return True if a text is a valid URL of a referee: `http` or `https`, with a host."""
    return _fault(text) == ""


def require_url(url: str) -> str:
    """Return the URL without blanks around it and a slash at its end. Raises ClientError `bad-url` unless it is one."""
    plain = url.strip().rstrip("/")
    if is_url(plain):
        return plain
    shown = repr(_without_secrets(url)).replace("\\\\", "\\")
    with suppress(OSError):
        if url and is_folder(Path(url)):
            shown += ", a folder of this host,"
        elif is_file(Path(url)):
            shown += ", a file of this host,"
    sentence = f"{shown} is not a referee's URL; {_correction(plain)}"
    raise ClientError("bad-url", sentence)


def _without_secrets(url: str) -> str:
    """Return a URL as it may be shown: without user and password, or a query with an @, which may hold one."""
    before = BEFORE_HOST.match(url)
    if before is None:
        return url
    if _has_password(url):
        return f"{before[1] or ''}{url[before.end() :]}"
    return re.sub(r"([?#]).*", r"\1...", url, count=1, flags=re.DOTALL)


def _has_password(url: str) -> bool:
    """Return True if an @ may part a user and a password from the host."""
    plain = re.sub(r"[\t\r\n]", "", unicodedata.normalize("NFKC", url))
    if "@" not in plain:
        return False
    address = ADDRESS.match(plain)
    return address is None or _fault_of_port(address[1] or "80") != ""


def _fault(url: str) -> str:
    """Return what is wrong with a URL, "" if nothing is."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return FORM
    if parts.scheme not in ("http", "https") or not host:
        return FORM
    if _has_password(url):
        return "leave out what is before the @, team and password are options"
    is_ipv6 = parts.netloc.startswith("[")
    if not (is_ipv6 or _is_host(host)):
        return f"{host!r} is not the name or address of a host"
    if parts.query or parts.fragment:
        return "leave out what begins with ? or #"
    if "/" in parts.path and IPV4_AND_PORT.fullmatch(f"{host}{parts.path}"):
        return "a port follows a colon"
    after_host = parts.netloc.partition("]" if is_ipv6 else ":")[2]
    has_colon = after_host.startswith(":") if is_ipv6 else ":" in parts.netloc
    return _fault_of_port(after_host.lstrip(":")) if has_colon else ""


def _is_host(name: str) -> bool:
    """Return True if a name may be that of a host; the length is first, since a long one takes too long to match."""
    if len(name) > LONGEST_HOST:
        return False
    return bool(HOST.fullmatch(name) and LABELS.fullmatch(name))


def _fault_of_port(port: str) -> str:
    """Return what is wrong with a port, "" if nothing is."""
    digits = port.lstrip("0")
    if not (port.isascii() and port.isdigit() and digits):
        return f"the port {port!r} is not a number from 1 to {LARGEST_PORT}"
    if len(digits) > LONGEST_PORT or int(digits) > LARGEST_PORT:
        return f"the port {digits:.{LONGEST_PORT}} is more than {LARGEST_PORT}"
    is_too_long = len(port) > LONGEST_CORRECTED  # int refuses thousands of digits
    return f"the port has {len(port)} digits" if is_too_long else ""


def _correction(url: str) -> str:
    """Return what is wrong with a URL, and the URL that is meant, if that can be said."""
    fault = _fault(url)
    if HOST_AND_PORT.fullmatch(url):
        fault = _fault(f"http://{url}") or FORM
    meant = _meant(url)
    if meant is None:
        return fault
    return f"{fault}, such as {meant}" if fault == FORM else f"{fault}: write {meant}"


def _meant(url: str) -> str | None:
    """Return the URL that a wrong one may mean, or None."""
    if len(url) > LONGEST_CORRECTED:
        return None
    plain = unicodedata.normalize("NFKC", url).replace("\\", "/").strip(AROUND)
    scheme = SCHEME.match(plain)
    rest = plain if scheme is None else plain[scheme.end() :]
    if _has_password(url):
        rest = rest.rpartition("@")[2]
    host = _host_meant(re.split(r"[?#]", rest)[0].rstrip("/"))
    looks_like_host = scheme is not None or ":" in host or "." in host
    is_file_name = Path(host).suffix in (".csv", ".json", ".txt")
    if is_file_name or not (looks_like_host or host == "localhost"):
        return None
    is_tls = scheme is not None and (scheme[1] or "").lower() == "https"
    completed = f"{'https' if is_tls else 'http'}://{host}"
    return completed if is_url(completed) else None


def _host_meant(text: str) -> str:
    """Return host and port with one colon between them, and an IPv6 address in brackets."""
    four = IPV4_AND_PORT.fullmatch(text)
    if four is not None:
        return f"{'.'.join(four.groups()[:4])}:{four[5]}"
    name, _, port = text.rpartition(":")
    with suppress(ValueError):
        return f"[{IPv6Address(name)}]:{port}"
    once = re.sub(r":(\d+):\1$", r":\1", text)
    return re.sub(r"\s*[:;]\s*(?=\d+$)|\s+(?=\d{2,5}$)", ":", once)


def require_certificate(ca_cert: str | None, url: str) -> None:
    """Raise ClientError `bad-ca-cert` unless the file of a certificate is there, and of use; None: none is given."""
    if ca_cert is not None and url.startswith("http://"):
        sentence = f"{url} is not encrypted, so --ca-cert {ca_cert} does nothing: write https://, or leave it out"
        raise ClientError("bad-ca-cert", sentence)
    if ca_cert == "":
        raise ClientError("bad-ca-cert", "--ca-cert is empty: name a file in PEM form")
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
