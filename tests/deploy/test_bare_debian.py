"""The script that sets up a bare Debian: its page, its refusals, and what it repeats of the pages beside it.

`bare_debian.sh` beside this file runs it on a bare system.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.contest_day import ROOT
from tests.deploy.deployment import GUIDE

SCRIPT = GUIDE / "set-up-debian.sh"
PAGE = GUIDE / "bare-debian.md"
TRIED = Path(__file__).with_name("bare_debian.sh")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(SCRIPT), *words], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("script", [SCRIPT, TRIED], ids=lambda one: str(one.name))
def test_a_plain_shell_reads_it(script: Path) -> None:
    subprocess.run(["sh", "-n", str(script)], check=True)
    assert "\nset -eu\n" in script.read_text()


def test_what_cannot_be_installed_is_refused_in_one_line(tmp_path: Path) -> None:
    for words, told in (
        ((), "name the checkout or the release"),
        ((str(tmp_path),), "neither a checkout (Makefile) nor a release"),
    ):
        done = run(*words)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert told in done.stderr or "only root" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--help",), "--help is no folder, and there are no options"),
        (("x", "https://board.example"), "'https://board.example' is a URL or a path"),
        (("x", "board.example:443"), "'board.example:443' has a port; give its name"),
        (("x", "192.168.1.300"), "'192.168.1.300' is no address: it has four numbers"),
        (("x", "192.168.1.2:443"), "'192.168.1.2:443' has a port; give its name alone"),
        (("x", "B\u00fcro"), "'B\u00fcro' is no name or address of a machine"),
        (("x", ""), "'' is no name or address of a machine"),
    ],
)
def test_names_that_no_certificate_can_have_are_refused_first(
    words: tuple[str, ...], told: str
) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert told in done.stderr


@pytest.mark.parametrize("name", ["2001:db8::2", "::ffff:1.2.3.4", "*.example.org"])
def test_addresses_of_version_6_and_names_with_a_star_are_taken(name: str) -> None:
    assert name not in run("no-such-folder", name).stderr


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="only Linux")
def test_it_sees_whether_a_program_runs_already() -> None:
    function = re.search(r"^runs\(\) \{.*?^\}$", SCRIPT.read_text(), re.M | re.S)
    assert function is not None
    title = f"nginx: master process {os.getpid()}"
    shell = ["sh", "-c", f'{function[0]}\nread -r title; runs "$title"']

    def runs() -> bool:
        return not subprocess.run(shell, input=title, text=True, check=False).returncode

    assert not runs()
    with subprocess.Popen([title, "60"], executable="/bin/sleep") as program:
        try:
            assert runs()
        finally:
            program.kill()


def test_the_page_has_every_heading_of_the_script_in_its_order() -> None:
    said = re.findall(r'^say "([^",:]*)', SCRIPT.read_text(), re.MULTILINE)
    table = PAGE.read_text().partition("| heading |")[2]
    told = re.findall(r"^\| ([^|]*?) \|", table, re.MULTILINE)[: len(said)]
    assert told == said


def test_its_packages_and_its_firewall_are_those_of_the_pages() -> None:
    script = SCRIPT.read_text()
    (listed,) = re.findall(r"--no-install-recommends \\\n +(.*)\n", script)
    (told,) = re.findall(r"^\| packages \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    assert told.split(", ") == listed.split()
    readme = (GUIDE / "README.md").read_text()
    (asked,) = re.findall(r"^    apt-get install (make [a-z0-9 -]*?) *$", readme, re.M)
    assert {*asked.split()} <= {*listed.split()}
    table = script.partition("<<'END'\n\n")[2].partition("END\n")[0]
    indented = "".join(f"    {line}\n" for line in table.splitlines())
    assert table.startswith("table inet referee {")
    assert indented in readme


def test_the_command_with_which_it_is_tried_is_the_one_of_the_page() -> None:
    (command,) = re.findall(r"make test-on .*", PAGE.read_text())
    assert command in TRIED.read_text()
    assert str(TRIED.relative_to(ROOT)) in command
