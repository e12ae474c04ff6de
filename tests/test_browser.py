"""The browser of the tests finds what must not be on a page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser

from tests.browser import assert_accessible, visit

CALM = "<!doctype html><html lang='en'><title>t</title><main><h1>Hello</h1></main>"


class Server(BaseHTTPRequestHandler):
    def __init__(self, body: bytes, *given: object) -> None:
        self.body = body
        super().__init__(*given)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        found = self.path in ("/", "/favicon.ico")
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Security-Policy", "default-src 'self'; connect-src *")
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def show() -> Iterator[Callable[[str], str]]:
    """Serve one page; returns its address."""
    servers = []

    def start(html: str) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, html.encode()))
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_each_fault_of_a_page_is_found(
    browser: Browser,
    show: Callable[[str], str],
) -> None:
    faults = {
        "<script>alert(1)</script>": "console: .*script",
        "<p style='color: red'>x</p>": "console: .*style",
        "<img alt='' src='/gone.png'>": "status of 404",
        "<link rel='stylesheet' href='https://example.org/x.css'>": "foreign request|example.org",
    }
    for fault, found in faults.items():
        with (
            pytest.raises(AssertionError, match=found),
            visit(browser, show(CALM + fault)),
        ):
            pass


def test_a_script_that_fails_and_a_request_to_another_host_are_found(
    browser: Browser,
    show: Callable[[str], str],
) -> None:
    address = show(CALM)
    with (
        pytest.raises(AssertionError, match=r"script: .*broken"),
        visit(browser, address) as page,
    ):
        page.evaluate("setTimeout(() => { throw new Error('broken') })")
    with (
        pytest.raises(AssertionError, match="foreign request: http://localhost"),
        visit(browser, address) as page,
    ):
        page.evaluate(
            f"fetch('{address.replace('127.0.0.1', 'localhost')}').catch(() => null)"
        )


def test_a_calm_page_passes_a_provoked_status_may_come_and_axe_tells_what_it_finds(
    browser: Browser,
    show: Callable[[str], str],
) -> None:
    with visit(
        browser,
        show(CALM + "<img alt='' src='/gone.png'>"),
        refused=[404],
    ) as page:
        assert_accessible(page)
        page.evaluate(
            "document.querySelector('main').append(document.createElement('button'))"
        )
        with pytest.raises(AssertionError, match="button-name"):
            assert_accessible(page)
