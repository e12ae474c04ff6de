"""The contest's key: what it signs, and each way in which it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from referee.auth.signing import ContestKey, new_key
from referee.errors import RefereeError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "signing-key"
    made.touch(mode=0o600)
    made.write_bytes(new_key())
    return made


def code_of(path: Path, known: str | None = None) -> str:
    with pytest.raises(RefereeError) as raised:
        ContestKey(path, known).sign("text")
    assert str(path) in raised.value.sentence
    return raised.value.code


def test_what_it_signs_is_verified_by_its_public_key(path: Path) -> None:
    key = ContestKey(path, None)
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.public))
    public.verify(bytes.fromhex(key.sign("Läuft.")), "Läuft.".encode())
    assert ContestKey(path, key.public).sign("again") == key.sign("again")


def test_a_key_that_is_missing_damaged_or_of_another_kind_is_said(path: Path) -> None:
    path.write_text("no key")
    assert code_of(path) == "secret-missing"
    path.unlink()
    assert code_of(path) == "secret-missing"


def test_a_key_that_others_can_read_is_not_used(path: Path) -> None:
    path.chmod(0o644)
    assert code_of(path) == "secret-readable"


def test_another_contests_key_is_not_used(path: Path) -> None:
    assert code_of(path, "00" * 32) == "contest-mixed"
