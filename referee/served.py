"""The address and key of a served contest, with which a command asks the server without opening the contest."""

from __future__ import annotations

import fcntl
from contextlib import suppress
from pathlib import Path

from referee.errors import RefereeError
from referee.presence import not_accessible

SECRET_NAME = "secret"  # noqa: S105 - a file's name
OPERATOR_KEY_NAME = "operator-key"
SECRET_BYTES = 32
SERVER_NAME = "server"
USER = "X-Operator-User"
"""Header in which a command states who uses the operator key, percent-encoded."""
LOCK_NAME = ".lock"  # held by the server of the folder
CERTIFICATE_NAME = "server.crt"
SETUP_NAME = ".setup"
"""File in a contest folder whose set-up in the browser has not been finished; it names the operator who began."""


def server_url(folder: Path) -> str | None:
    """Return the URL at which the contest was last served; None if it was stopped properly or never served."""
    try:
        return (folder / SERVER_NAME).read_text().strip()
    except FileNotFoundError:
        return None


def is_served(folder: Path) -> bool:
    """Return True if a server of this contest folder is running."""
    with (
        suppress(FileNotFoundError, NotADirectoryError),
        (folder / LOCK_NAME).open() as lock,
    ):
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def read_secret(path: Path) -> bytes:
    """Read the contest's secret or operator key.

    Raises RefereeError `secret-missing`, `secret-readable`, `not-accessible`.
    """
    problem = "it is too short"
    try:
        secret = bytes.fromhex(path.read_text().strip())
    except PermissionError as error:
        raise not_accessible(path, error) from error
    except (OSError, ValueError) as error:
        secret = b""
        problem = getattr(error, "strerror", "it is not hexadecimal")
    if len(secret) < SECRET_BYTES:
        sentence = f"The contest's secret {path} cannot be read ({problem}); restore it from your backup."
        raise RefereeError("secret-missing", sentence)
    require_private(path)
    return secret


def require_private(path: Path) -> None:
    """Raise RefereeError `secret-readable` if anyone but the owner can read the file."""
    if path.stat().st_mode & 0o077:
        raise RefereeError(
            "secret-readable",
            f"Others can read {path}; repair it with: chmod 600 {path}",
        )
