"""The client of one file in a contest of another task: only its function `detect` is replaced."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lpirc_testsets import synthesize
from tests.contest_day import PASSWORD, TEAM, TIMEOUT_S, contest_day

CLIENT = Path(__file__).parents[2] / "client" / "examples" / "python" / "client.py"
DETECT = """
def detect(jpeg, categories):
    return {"classes": [one["id"] for one in categories[:2]]}


if __name__ == "__main__":
"""


def test_it_posts_what_its_detect_returns_for_each_image(tmp_path: Path) -> None:
    testset = synthesize(
        tmp_path / "set",
        images=5,
        categories=3,
        size=(96, 64),
        task="classification",
    )
    client = tmp_path / "client.py"
    text = CLIENT.read_text()
    client.write_text(text.replace('\nif __name__ == "__main__":\n', DETECT))
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    with contest_day(tmp_path / "day", testset.folder, task="classification") as day:
        server = day.serve()
        command = [sys.executable, "-I", client, server.url, TEAM, password]
        ran = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert "logged out" in ran.stderr
        with day.store() as store:
            assert sorted(store.posts.images(1).tolist()) == [1, 2, 3, 4, 5]
