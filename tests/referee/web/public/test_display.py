"""The camera track: what a camera in front of the screen sees, read from screenshots of the real page."""

from __future__ import annotations

import io
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image as Picture

from lpirc_testsets.folder import Category, Image, sha256_of
from lpirc_testsets.writing import ObjectRecord, write_records
from tests.browser import assert_accessible, visit
from tests.contest_day import Day, contest_day, problem, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SIZES = [(1920, 1080), (1280, 800)]
# Width, height.
ODD = [
    (96, 64),
    (64, 96),
    (301, 7),
    (7, 301),
    (640, 480),
    (333, 333),
]
PAINTED = (
    "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
)
GREYS = 11


def corners(number: int) -> NDArray[np.int64]:
    """The colours of an image's quarters (2, 2, 3): a code of its number, none of them black."""
    red = (255, 80, 80 + 85 * (number % 3))
    green = (80, 255, 80 + 85 * (number // 3))
    return np.array(
        [
            [red, green],
            [(80, 80, 255), (255, 255, 0)],
        ]
    )


@pytest.fixture(scope="module")
def odd_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "odd"
    (folder / "images").mkdir(parents=True)
    images = []
    for number, (width, height) in enumerate(ODD, 1):
        quarters = corners(number).astype(np.uint8)
        path = folder / "images" / f"{number}.jpg"
        picture = Picture.fromarray(quarters).resize(
            (width, height),
            Picture.Resampling.NEAREST,
        )
        picture.save(path, quality=95, subsampling=0)
        images.append(
            Image(number, f"{number}.jpg", width, height, sha256_of(path), str(number))
        )
    write_records(
        folder,
        "odd",
        images,
        [Category(1, "box")],
        [ObjectRecord(1, 1, (0, 0, 5, 5), 25)],
    )
    return folder


@pytest.fixture(scope="module")
def camera_day(
    tmp_path_factory: pytest.TempPathFactory,
    odd_set: Path,
) -> Iterator[Day]:
    with contest_day(tmp_path_factory.mktemp("camera") / "contest", odd_set) as made:
        made.serve()
        yield made


def key_of(day: Day) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {(day.folder / 'operator-key').read_text().strip()}"
    }


def session_of(day: Day) -> dict[str, Any]:
    """A browser profile in which the operator is logged in."""
    assert day.server is not None
    form = {
        "password": (day.folder / "operator-key").read_text().strip(),
        "next": "/display/station-1",
    }
    answer = day.server.ask("POST", "/operator/login", data=form, allow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/display/station-1"
    ((name, value),) = answer.cookies.items()
    cookie = {
        "name": name,
        "value": value,
        "domain": day.server.host,
        "path": "/",
        "expires": -1,
    }
    cookie |= {
        "httpOnly": True,
        "secure": False,
        "sameSite": "Strict",
    }
    return {"cookies": [cookie], "origins": []}


def display(day: Day) -> str:
    assert day.server is not None
    return f"{day.server.url}/display/station-1"


@contextmanager
def screen(day: Day, browser: Browser, **context: Any) -> Iterator[Page]:
    """The page of the station's screen, painted and known to the referee: it refuses an image while there is none."""
    with visit(browser, display(day), **context) as page:
        page.wait_for_event("response", lambda answer: "/next" in answer.url)
        page.evaluate(PAINTED)
        yield page


def asked(day: Day, token: str, number: int) -> None:
    assert day.server is not None
    server = day.server
    answers: list[Any] = []

    def is_decided() -> bool:
        answers.append(server.ask("PUT", f"/v1/display/{number}", token))
        return bool(answers[-1].ok) or answers[-1].json()["code"] != "display-failed"

    # A screen on a busy machine may take longer than the referee waits.
    until(is_decided)
    answer = answers[-1]
    assert (answer.status_code, answer.json()["image"]) == (200, number), answer.text


def screenshot(page: Page) -> NDArray[np.int64]:
    """What the screen shows at once; Playwright's own screenshot takes three times as long."""
    asking = page.context.new_cdp_session(page)
    taken = asking.send(
        "Page.captureScreenshot",
        {"format": "png", "optimizeForSpeed": True},
    )
    asking.detach()
    return np.asarray(
        Picture.open(io.BytesIO(b64decode(taken["data"]))).convert("RGB")
    ).astype(np.int64)


def decoded(pixels: NDArray[np.int64]) -> tuple[int, NDArray[np.int64]]:
    """(number, the image's pixels) that a screen shows: markers, bits and picture must be just where they belong."""
    height, width, _ = pixels.shape
    row = min(height, width) // 12
    side = row * 2 // 3
    margin = (row - side) // 2
    seen = []
    rest = pixels.copy()
    for left in (margin, width - margin - side):
        for place in range(12):
            top = place * height // 12 + margin
            square = pixels[top : top + side, left : left + side]
            assert square.min() == square.max()
            assert square.max() in (0, 255)
            seen.append(int(square.max() == 255))
            rest[top : top + side, left : left + side] = 0
    assert seen[0] == 1
    assert seen[11] == 1
    assert seen[12] == 1
    assert seen[23] == 1
    number = int("".join(map(str, seen[1:11] + seen[13:23])), 2)
    lit = rest.max(axis=2) > 0
    ys = lit.any(axis=1).nonzero()[0]
    xs = lit.any(axis=0).nonzero()[0]
    assert row <= xs[0]
    assert xs[-1] < width - row
    return number, rest[ys[0] : ys[-1] + 1, xs[0] : xs[-1] + 1]


def assert_shows(pixels: NDArray[np.int64], number: int) -> None:
    """The pixels are all of image `number` of the odd set, as large as fits, in its aspect."""
    width, height = ODD[number - 1]
    shown_height, shown_width, _ = pixels.shape
    assert abs(shown_width - shown_height * width / height) <= 0.5 * max(
        1,
        width / height,
    )
    centres = pixels[
        shown_height // 4 :: shown_height // 2, shown_width // 4 :: shown_width // 2
    ][:2, :2]
    assert np.abs(centres - corners(number)).max() <= 12


def assert_is_test_card(pixels: NDArray[np.int64]) -> None:
    """The markers say 0; the card fills an image's area, with steps of grey and sharp lines of a pixel."""
    number, card = decoded(pixels)
    assert number == 0
    height, width, _ = card.shape
    row = min(pixels.shape[:2]) // 12
    assert (height, width) == (pixels.shape[0], pixels.shape[1] - 2 * row)
    assert np.ptp(card, axis=2).max() <= 0, "it has no colour"
    grey = card[:, :, 0]
    wide = (width - 4 * row) // GREYS
    first = (width - GREYS * wide) // 2
    centres = [first + wide // 2 + wide * step for step in range(GREYS)]
    steps = grey[row * 3 // 2, centres]
    assert steps.tolist() == [255 * step // 10 for step in range(GREYS)]
    lines = grey[row * 3 // 4, row // 2 : row - 2]
    assert set(lines[::2]) == {255}
    assert set(lines[1::2]) == {0}
    around = np.arange(720) * np.pi / 360
    ys = (height / 2 + 2 * row * np.sin(around)).astype(int)
    xs = (width / 2 + 2 * row * np.cos(around)).astype(int)
    edges = np.count_nonzero(np.diff(grey[ys, xs] > 127))
    assert 35 <= edges <= 36, "the sectors of the star"


@pytest.mark.parametrize("size", SIZES)
def test_before_the_first_image_a_camera_is_aimed_and_exposed_on_a_test_card(
    tmp_path: Path,
    odd_set: Path,
    browser: Browser,
    size: tuple[int, int],
) -> None:
    with contest_day(tmp_path / "contest", odd_set) as day:
        server = day.serve()
        with screen(
            day,
            browser,
            size=size,
            extra_http_headers=key_of(day),
        ) as page:
            page.evaluate(PAINTED)
            assert_is_test_card(screenshot(page))
            assert_accessible(page)
            requested = page.evaluate(
                "performance.getEntriesByType('resource').map(one => one.name)"
            )
            assert not [one for one in requested if "/images/" in one]
            token = day.login()["token"]
            assert_is_test_card(screenshot(page))
            asked(day, token, 2)
            number, pixels = decoded(screenshot(page))
            assert number == 2
            with day.store() as store:
                assert_shows(pixels, int(store.runs.image_order(1)[1]))
            assert server.ask("DELETE", "/v1/session", token).ok
            page.wait_for_selector("body:not(.is-showing)")
            page.evaluate(PAINTED)
            assert_is_test_card(screenshot(page))


@pytest.mark.parametrize("size", SIZES)
def test_number_and_image_are_read_from_the_screen_the_moment_the_client_has_its_answer(
    camera_day: Day,
    browser: Browser,
    size: tuple[int, int],
) -> None:
    token = camera_day.login()["token"]
    with camera_day.store() as store:
        order = store.runs.image_order(1)
    with screen(
        camera_day,
        browser,
        size=size,
        extra_http_headers=key_of(camera_day),
    ) as page:
        for number in range(1, len(ODD) + 1):
            asked(camera_day, token, number)
            read, pixels = decoded(screenshot(page))
            assert read == number
            assert_shows(pixels, int(order[number - 1]))
            row = min(size) // 12
            assert (
                pixels.shape[0] == size[1]
                or abs(pixels.shape[1] - (size[0] - 2 * row)) <= 1
            )
        assert_accessible(page)
    with camera_day.store() as store:
        assert store.served.images(1) == list(range(1, len(ODD) + 1))


def test_all_20_bits_are_shown_also_after_the_window_has_changed(
    camera_day: Day,
    browser: Browser,
    odd_set: Path,
) -> None:
    profile = browser.new_context(extra_http_headers=key_of(camera_day))
    page = profile.new_page()
    for number in (0b10110011100011110000, 0b01001100011100001111):
        page.route(
            "**/next*",
            lambda route, _, n=number: route.fulfill(json={"run": 1, "image": n}),
        )
        page.route(
            "**/images/*",
            lambda route: route.fulfill(path=odd_set / "images" / "1.jpg"),
        )
        page.goto(display(camera_day))
        page.wait_for_selector("body.is-showing")
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate(PAINTED)
            assert decoded(screenshot(page))[0] == number
        page.unroute_all(behavior="ignoreErrors")
    profile.close()


def test_the_screen_survives_a_reload_and_a_restart_and_waits_when_the_run_ends(
    tmp_path: Path,
    odd_set: Path,
    browser: Browser,
) -> None:
    with contest_day(tmp_path / "contest", odd_set) as day:
        server = day.serve()
        token = day.login()["token"]
        session = session_of(day)
        gone = ["ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE"]
        with screen(
            day,
            browser,
            size=SIZES[1],
            storage_state=session,
            refused=gone,
        ) as page:
            assert "waits" in page.inner_text("h1")
            assert_is_test_card(screenshot(page))
            old = {"token": token, "image_name": "3"}
            shown = server.ask("POST", "/image_camera", data=old)
            assert shown.status_code == 200
            assert shown.text == "Display success\n"
            assert decoded(screenshot(page))[0] == 3
            page.reload()
            page.wait_for_selector("body.is-showing")
            assert decoded(screenshot(page))[0] == 3
            server.kill()
            server = day.serve("--port", str(server.port))
            page.wait_for_event("requestfinished")
            assert decoded(screenshot(page))[0] == 3
            asked(day, token, 4)
            assert decoded(screenshot(page))[0] == 4
            assert server.ask("DELETE", "/v1/session", token).status_code == 200
            page.wait_for_selector("body:not(.is-showing)")
            page.evaluate(PAINTED)
            assert_is_test_card(screenshot(page))


def test_an_image_that_the_screen_does_not_show_in_time_is_refused_and_not_served(
    tmp_path: Path,
    tiny_set: Path,
) -> None:
    with contest_day(tmp_path / "contest", tiny_set) as day:
        server = day.serve()
        token = day.login()["token"]
        key = key_of(day)
        assert server.ask("GET", "/display/station-1/next", headers=key).json() == {}
        problem(server.ask("PUT", "/v1/display/2", token), 409, "display-failed")
        assert server.ask("GET", "/display/station-1/next", headers=key).json() == {}
        old = server.ask(
            "POST",
            "/image_camera",
            data={"token": token, "image_name": "2"},
        )
        assert old.status_code == 500
        assert old.text == "Display failed to start\n"
        problem(server.ask("PUT", "/v1/display/7", token), 404, "image-unknown")
        with day.store() as store:
            assert store.served.images(1) == []


def test_only_the_operator_sees_the_screen_and_only_images_of_its_open_run(
    camera_day: Day,
) -> None:
    camera_day.login()
    server = camera_day.server
    assert server is not None
    paths = [
        "/display/station-1",
        "/display/station-1/next",
        "/display/station-1/runs/1/images/1",
    ]
    told = [server.ask("GET", path, allow_redirects=False) for path in paths]
    assert [answer.status_code for answer in told] == [303, 401, 401]
    assert told[0].headers["Location"] == "/operator/login?next=/display/station-1"
    key = key_of(camera_day)
    assert [server.ask("GET", path, headers=key).status_code for path in paths] == [
        200,
        200,
        200,
    ]
    problem(server.ask("GET", "/display/none", headers=key), 404, "station-unknown")
    problem(
        server.ask("GET", "/display/station-1/runs/2/images/1", headers=key),
        404,
        "run-unknown",
    )
    problem(
        server.ask("GET", "/display/station-1/runs/1/images/7", headers=key),
        404,
        "image-unknown",
    )
