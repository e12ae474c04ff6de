"""A site on nginx, below a path of its own and packed, and on Python's web server: whole, from one host."""

from __future__ import annotations

import gzip
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests

from referee.publishing.public_site import team_page_name
from referee.publishing.site_publication import Publication
from tests.browser import browser, visit
from tests.deploy.deployment import HOST, program
from tests.ports import own_port
from tests.referee.publishing.conftest import TEAMS
from tests.referee.publishing.test_site import reached, web_server
from tests.timeouts import TIMEOUT_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
Publish = Callable[..., Publication]
SUB_PATH = "/lpirc/2027/"
CONFIG = """
daemon off; pid nginx.pid; error_log stderr; worker_processes 1;
events {{ worker_connections 64; }}
http {{
    access_log off; default_type application/octet-stream;
    types {{ text/html html; text/css css; application/javascript js; application/json json;
            image/svg+xml svg; application/pdf pdf; application/zip zip; }}
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {{
        listen {host}:{port};
        gzip_static on;
        location {path} {{ alias {site}/; index index.html; }}
    }}
}}
"""


def answers(port: int) -> bool:
    try:
        requests.get(f"http://{HOST}:{port}/", timeout=TIMEOUT_S)
    except requests.ConnectionError:
        return False
    return True


@contextmanager
def nginx(site: Path, folder: Path) -> Iterator[str]:
    """Nginx with a site below a path of its own."""
    folder.mkdir()
    port = own_port()
    config = folder / "nginx.conf"
    text = CONFIG.format(host=HOST, port=port, path=SUB_PATH, site=site)
    if os.geteuid() == 0:  # else its worker may not read the test's folder
        text = f"user root;{text}"
    config.write_text(text)
    command = [program("nginx"), "-p", str(folder), "-c", str(config)]
    with subprocess.Popen([*command, "-e", "stderr"]) as process:
        try:
            until_s = time.monotonic() + TIMEOUT_S
            while not answers(port):
                assert process.poll() is None
                assert time.monotonic() < until_s
                time.sleep(0.02)
            yield f"http://{HOST}:{port}{SUB_PATH}"
        finally:
            process.terminate()


@pytest.mark.parametrize("server", ["nginx", "python"])
def test_a_site_is_whole_below_a_path_and_asks_no_other_host(
    published: Publish,
    browser: Browser,
    tmp_path: Path,
    server: str,
) -> None:
    site = published(final=True).folder
    serving = nginx(site, tmp_path / "run") if server == "nginx" else web_server(site)
    with serving as url:
        found = reached(url)
        assert {one.status_code for one in found.values()} == {200}
        assert all(one.startswith(url) for one in found)
        # `visit` fails for a console error and for a request to another host.
        with visit(browser, url) as page:
            page.get_by_role("link", name=TEAMS[0]).first.click()
            page.wait_for_url(f"**/{team_page_name(TEAMS[0])}")
            page.get_by_role("link", name="Report").first.click()
            page.wait_for_url("**/reports/run-*.html")


def test_nginx_sends_the_packed_page_and_the_same_page_unpacked(
    published: Publish,
    tmp_path: Path,
) -> None:
    site = published().folder
    with nginx(site, tmp_path / "run") as url:
        for name in ("", "style.css", "board.json"):
            path = site / (name or "index.html")
            packed = path.with_name(f"{path.name}.gz").read_bytes()
            asked = {"Accept-Encoding": "gzip"}
            sent = requests.get(
                url + name, headers=asked, stream=True, timeout=TIMEOUT_S
            )
            assert sent.headers["Content-Encoding"] == "gzip"
            assert sent.raw.read() == packed
            plain = {"Accept-Encoding": "identity"}
            unpacked = requests.get(url + name, headers=plain, timeout=TIMEOUT_S)
            assert unpacked.content == path.read_bytes() == gzip.decompress(packed)
