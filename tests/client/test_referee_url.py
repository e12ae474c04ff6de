"""A wrong URL of a referee is told what is wrong with it, and the URL that may be meant."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lpirc_client.errors import ClientError
from lpirc_client.referee_url import is_url, require_url


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("http://board:8080", "http://board:8080"),
        (" http://board:8080/ ", "http://board:8080"),
        ("http://board:8080\r\n", "http://board:8080"),
        ("HTTP://10.0.0.2", "HTTP://10.0.0.2"),
        ("https://[::1]:8443", "https://[::1]:8443"),
        ("http://[fe80::1%eth0]", "http://[fe80::1%eth0]"),
        ("http://my_pi.local/2026/", "http://my_pi.local/2026"),
        ("http://münchen:80", "http://münchen:80"),
        ("http://127.1:80", "http://127.1:80"),
        ("http://board.local.", "http://board.local."),
        (
            "http://board:00000000000000000000080",
            "http://board:00000000000000000000080",
        ),
    ],
)
def test_a_url_is_taken_without_what_surrounds_it(url: str, plain: str) -> None:
    assert require_url(url) == plain


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ('"http://board:8080 "', "such as http://board:8080"),
        ("<http://board:8080>", "such as http://board:8080"),
        ("http:\\board:8080", "such as http://board:8080"),
        ("https:\\\\board:8080\\", "such as https://board:8080"),
        ("\\\\10.0.0.2:8080", "such as http://10.0.0.2:8080"),
        ("tcp:10.0.0.2:8080", "such as http://10.0.0.2:8080"),
        ("ws://10.0.0.2:8080", "such as http://10.0.0.2:8080"),
        ("url=http://10.0.0.2:8080", "such as http://10.0.0.2:8080"),
        ("10.0.0.2 8080", "such as http://10.0.0.2:8080"),
        ("http\uff1a//10.0.0.2:8080", "such as http://10.0.0.2:8080"),
        ("http://::1:8080", "such as http://[::1]:8080"),
        ("http://[10.0.0.2]:8080", "such as http://10.0.0.2:8080"),
        ("http://10.0.0.2.8080", "of a host: write http://10.0.0.2:8080"),
        ("http://10.0.0.2;8080", "of a host: write http://10.0.0.2:8080"),
        ("http://10,0,0,2:8080", "of a host: write http://10.0.0.2:8080"),
        ("http://board :8080", "of a host: write http://board:8080"),
        ("http://board: 8080", "to 65535: write http://board:8080"),
        ("http://board:8080,", "to 65535: write http://board:8080"),
        ("http://board:8080:8080", "to 65535: write http://board:8080"),
        ("http://http://board:8080", "to 65535: write http://board:8080"),
        ("http://board:-8080", "to 65535"),
        ("http://board:8O8O", "; the port '8O8O' is not a number from 1 to 65535"),
        ("http://host:port", "; the port 'port' is not a number from 1 to 65535"),
        ("http://board:0", "; the port '0' is not a number from 1 to 65535"),
        ("board:80800", "; the port 80800 is more than 65535"),
        ("http://10.0.0.2/8080", "follows a colon: write http://10.0.0.2:8080"),
        ("http://board:8080/?a=1", "? or #: write http://board:8080"),
        ("http://board:8080/#top", "? or #: write http://board:8080"),
        ("http://a..b:80", "; 'a..b' is not the name or address of a host"),
        (f"http://{'a' * 64}", "a' is not the name or address of a host"),
        pytest.param(
            f"http://board:{'1' * 5000}",
            "; the port 11111111111111111111 is more than 65535",
            id="a port of 5000 digits",
        ),
        pytest.param(
            f"http://board:{'0' * 5000}80",
            "; the port has 5002 digits",
            id="a port of 5000 zeros",
        ),
        ("http://8080", "; '8080' is not the name or address of a host"),
        ("8080", "; write http://host:port"),
        ("", "; write http://host:port"),
        ("found.csv", "; write http://host:port"),
    ],
)
def test_a_wrong_url_is_told_the_one_meant(url: str, told: str) -> None:
    assert not is_url(url)
    with pytest.raises(ClientError) as raised:
        require_url(url)
    shown = repr(url).replace("\\\\", "\\")
    assert raised.value.sentence.startswith(f"{shown} is not a referee's URL; ")
    assert told in raised.value.sentence


@pytest.mark.parametrize(
    "url",
    [
        "http://alpha:secret@board:8080",
        "http://alpha:my/secret@board:8080",
        "http://alpha:https/secret@board:8080",
        "http://alpha:secret\uff20board:8080",
        "http:\\\\alpha:secret@board:8080",
        "http:/\t/alpha:secret@board:8080",
        "alpha:secret@board:8080",
    ],
)
def test_a_password_in_a_url_is_not_shown(url: str) -> None:
    with pytest.raises(ClientError, match=r"http://board:8080$") as raised:
        require_url(url)
    assert "alpha" not in raised.value.sentence
    assert "secret" not in raised.value.sentence


@pytest.mark.parametrize("url", ["http://board:8080/a@b", "http://board:8080/a/@b"])
def test_an_at_sign_in_a_path_is_none_of_a_password(url: str) -> None:
    assert require_url(url) == url


@pytest.mark.parametrize(
    ("url", "shown", "meant"),
    [
        ("http://pi:80/?m=me@uni.example", "http://pi:80/?...", "http://pi:80"),
        ("http://pi:80/in#me@uni.example", "http://pi:80/in#...", "http://pi:80/in"),
        ("http://alpha:1#secret@board:80", "http://alpha:1#...", "http://alpha:1"),
        ("pi:80/?m=me@uni.example", "pi:80/?...", "http://pi:80"),
        ("http://pi/?to=http://uni", "http://pi/?to=http://uni", "http://pi"),
    ],
)
def test_a_host_behind_the_path_is_not_the_one_meant(
    url: str, shown: str, meant: str
) -> None:
    with pytest.raises(ClientError) as raised:
        require_url(url)
    assert raised.value.sentence.startswith(f"{shown!r} is not a referee's URL; ")
    assert raised.value.sentence.endswith(f" {meant}")


@pytest.mark.parametrize(
    "url",
    ["." * 30000, f"http://{'a' * 100000}!", f"a{' ' * 100000}b", "@" * 30000],
    ids=["dots", "letters", "blanks", "at signs"],
)
def test_a_long_url_is_refused_at_once(url: str) -> None:
    begun_s = time.process_time()
    assert not is_url(url)
    with pytest.raises(ClientError, match="is not a referee's URL"):
        require_url(url)
    assert time.process_time() - begun_s < 2.0


def test_a_path_in_place_of_a_url_is_told_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(ClientError, match="', a folder of this host, is not a refer"):
        require_url(str(tmp_path))
    (tmp_path / "found.csv").touch()
    with pytest.raises(ClientError, match="', a file of this host, is not a referee"):
        require_url(str(tmp_path / "found.csv"))
