"""The verifier of published sites alone: one file, without the referee and without anything installed."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from referee.auth.signing import ContestKey
from referee.publishing.site_manifest import digests_of, manifest_of, write_signed
from tests.contest_day import TIMEOUT_S
from tests.referee.publishing.test_site import Publish, web_server

SCRIPT = Path(__file__).parents[3] / "client" / "lpirc_client" / "verify_site.py"
NO_SITE = ("", "[]", "{}", "null", '{"predicateType": 1}', "[" * 100_000)


def verify(*words: str, alone: Path) -> subprocess.CompletedProcess[str]:
    """Run a copy of the file in an empty folder, with the standard library only."""
    script = alone / "verify_site.py"
    shutil.copy(
        SCRIPT,
        script,
    )
    return subprocess.run(
        [sys.executable, "-I", "-S", str(script), *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=alone,
        timeout=TIMEOUT_S,
    )


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    folder = tmp_path / "alone"
    folder.mkdir()
    return folder


@pytest.fixture
def copy(published: Publish, tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    shutil.copytree(published().folder, folder)
    return folder


def key_of(site: Path) -> str:
    about = json.loads((site / "manifest.json").read_text())["predicate"]
    return str(about["public_key"])


def test_a_site_as_published_is_right_as_a_folder_and_at_an_address(
    copy: Path, alone: Path
) -> None:
    key = key_of(copy)
    with web_server(copy) as url:
        for where in (str(copy), url, url.rstrip("/")):
            told = verify(
                where,
                "--key",
                key.upper(),
                alone=alone,
            )
            assert told.returncode == 0, told.stdout + told.stderr
            assert f"files are as signed by {key}" in told.stdout
    assert "compare the key with the board" in verify(str(copy), alone=alone).stdout


@pytest.mark.parametrize("how", ["altered", "missing", "added", "packed"])
def test_what_a_rival_does_to_a_copy_is_found(
    copy: Path, alone: Path, how: str
) -> None:
    page = copy / "index.html"
    if how == "altered":
        page.write_text(page.read_text().replace("Ranking", "Winners"))
    elif how == "missing":
        page.unlink()
    elif how == "packed":  # what nginx sends instead of the page
        packed = copy / "index.html.gz"
        packed.write_bytes(packed.read_bytes()[:-1] + b"x")
    else:
        (copy / "teams" / "new.html").write_text("<h1>Otters won</h1>")
    told = verify(str(copy), "--key", key_of(copy), alone=alone)
    assert told.returncode == 1
    assert {"added": "was added", "missing": "is missing"}.get(
        how, "was altered"
    ) in told.stdout
    assert "failed: 1 of the files" in told.stdout


def test_a_site_signed_anew_by_a_rival_has_another_key(
    copy: Path, alone: Path, tmp_path: Path
) -> None:
    """The rival alters a page, makes a manifest with a key of its own, and signs it rightly."""
    file = tmp_path / "rival.pem"
    file.touch(0o600)
    kind = serialization
    pem = (kind.Encoding.PEM, kind.PrivateFormat.PKCS8, kind.NoEncryption())
    file.write_bytes(Ed25519PrivateKey.generate().private_bytes(*pem))
    rival = ContestKey(
        file,
        None,
    )
    key = key_of(copy)
    (copy / "index.html").write_text("<h1>Otters won</h1>")
    about = {"contest": "Test", "public_key": rival.public}
    write_signed(copy, manifest_of(digests_of(copy), about), rival)
    assert verify(str(copy), alone=alone).returncode == 0
    told = verify(str(copy), "--key", key, alone=alone)
    assert told.returncode == 1
    assert "it is not that contest's" in told.stdout


def test_a_signature_that_is_not_one_is_refused(copy: Path, alone: Path) -> None:
    envelope = copy / "manifest.dsse.json"
    right = json.loads(envelope.read_text())
    signature = base64.b64decode(right["signatures"][0]["sig"])
    for bad in (
        signature[:-1],
        bytes(64),
        signature[:32] + bytes([signature[32] ^ 1]) + signature[33:],
        signature[:32] + b"\xff" * 32,
    ):
        right["signatures"][0]["sig"] = base64.b64encode(bad).decode()
        envelope.write_text(json.dumps(right))
        told = verify(str(copy), alone=alone)
        assert told.returncode == 1
        assert told.stdout.startswith("failed: ")
        assert told.stderr == ""


def test_what_is_no_site_is_one_sentence(copy: Path, alone: Path) -> None:
    manifest = copy / "manifest.json"
    for text in NO_SITE:
        manifest.write_text(text)
        told = verify(str(copy), alone=alone)
        assert (told.returncode, told.stderr) == (1, "")
        assert told.stdout.count("\n") == 1
    told = verify(
        "http://127.0.0.1:9/",
        alone=alone,
    )
    assert "manifest.json cannot be loaded" in told.stdout
    told = verify(str(copy / "nothing"), "--key", "xyz", alone=alone)
    assert told.returncode == 2
