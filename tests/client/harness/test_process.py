"""The model's process: its limits, and the ways in which a model can break it."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lpirc_client.errors import ModelError
from lpirc_client.harness.confinement import Confinement
from lpirc_client.harness.model_process import ModelProcess
from lpirc_client.harness.model_settings import Settings
from lpirc_client.harness.validator import examine, load
from tests.client.harness.pictures import model_file
from tests.contest_day import descendants_of
from tests.tflite_models import classifier, endless, greedy, unknown_operator

pytestmark = pytest.mark.skipif(
    sys.platform != "linux",
    reason="limits and signals are those of Linux",
)

SETTINGS = Settings("classification", "central-crop", memory_mb=300, timeout_s=20.0)
GONE_MS = 20_000
OPEN = Confinement(reason="this test runs code of its own in it")


@pytest.fixture
def own() -> Iterator[ModelProcess]:
    with ModelProcess("m.tflite", min(os.sched_getaffinity(0))) as started:
        yield started


def inside(process: ModelProcess) -> int:
    """The process that runs the model, wherever it is confined the innermost one."""
    return [process.pid, *descendants_of(process.pid)][-1]


def has_ended(process: int) -> bool:
    """Wait for the end of the process with this file descriptor, and close it."""
    gone = select.poll()
    gone.register(process, select.POLLIN)
    with contextlib.closing(os.fdopen(process)):
        return bool(gone.poll(GONE_MS))


def failure(
    process: ModelProcess,
    data: bytes,
    settings: Settings = SETTINGS,
) -> ModelError:
    with pytest.raises(ModelError) as caught:
        examine(process, model_file(data), settings)
    return caught.value


def test_it_stays_on_its_core_with_one_thread_and_without_core_dumps(
    own: ModelProcess,
) -> None:
    load(own, model_file(classifier()), SETTINGS)
    pid = inside(own)
    assert os.sched_getaffinity(pid) == {min(os.sched_getaffinity(0))}
    assert len(list(Path(f"/proc/{pid}/task").iterdir())) == 1
    assert resource.prlimit(pid, resource.RLIMIT_CORE) == (0, 0)


def test_memory_is_limited_beyond_what_the_runtime_itself_takes(
    own: ModelProcess,
) -> None:
    load(own, model_file(classifier()), SETTINGS)
    soft, _ = resource.prlimit(inside(own), resource.RLIMIT_AS)
    pages = int(Path(f"/proc/{inside(own)}/statm").read_text().split()[0])
    room_mb = (soft - pages * os.sysconf("SC_PAGE_SIZE")) / (1 << 20)
    assert 300 < room_mb < 300 + 129  # what the harness itself needs is added


def test_a_model_that_never_ends_is_killed_in_time(own: ModelProcess) -> None:
    load(own, model_file(endless()), SETTINGS)
    model = os.pidfd_open(inside(own))
    request = {"do": "run", "budget_ns": 1, "slice_ns": 1}
    with pytest.raises(ModelError) as caught:
        own.ask("run", request, 0.3, bytes(8 * 8 * 3))
    assert caught.value.code == "model-timeout"
    assert caught.value.sentence.startswith(
        "m.tflite: no answer within 0.3 s while it was being run; "
    )
    assert own.is_dead
    assert has_ended(model)


@pytest.mark.parametrize("when_run", [False, True])
def test_a_model_that_exhausts_memory_is_reported_and_the_process_lives_on(
    own: ModelProcess,
    when_run: bool,
) -> None:
    error = failure(own, greedy(when_run=when_run))
    assert error.code == "out-of-memory"
    doing = "run" if when_run else "loaded"
    assert error.sentence.startswith(
        f"m.tflite: it needs more than the 300 MB of memory allowed while it is being {doing}; "
    )
    assert examine(own, model_file(classifier()), SETTINGS)[1] == []


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (
            signal.SIGSEGV,
            "model-crashed",
            "it crashed the runtime (SIGSEGV) while it was being run",
        ),
        (
            signal.SIGABRT,
            "model-crashed",
            "it crashed the runtime (SIGABRT) while it was being run",
        ),
        (
            signal.SIGKILL,
            "out-of-memory",
            "killed by the system while it was being run",
        ),
        (
            signal.SIGXCPU,
            "model-timeout",
            "no answer within 20 s while it was being run",
        ),
    ],
)
def test_a_process_that_dies_in_the_middle_is_reported_by_its_signal(
    own: ModelProcess,
    number: signal.Signals,
    code: str,
    said: str,
) -> None:
    load(own, model_file(endless()), SETTINGS)
    killer = threading.Timer(0.05, os.kill, (inside(own), number))
    killer.start()
    with pytest.raises(ModelError) as caught:
        own.ask(
            "run",
            {"do": "run", "budget_ns": 1, "slice_ns": 1},
            20.0,
            bytes(8 * 8 * 3),
        )
    killer.join()
    assert caught.value.code == code
    assert f"m.tflite: {said}" in caught.value.sentence
    assert own.is_dead


def test_a_process_that_dies_between_requests_is_reported_at_the_next(
    own: ModelProcess,
) -> None:
    load(own, model_file(classifier()), SETTINGS)
    os.kill(inside(own), signal.SIGSEGV)
    assert failure(own, classifier()).code == "model-crashed"


def test_noise_on_stdout_and_stderr_is_not_an_answer(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os\nfor _ in range(40):\n    os.write(1, b'{}' * 20000)\n    os.write(2, b'noise\\n' * 5000)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with ModelProcess(
        "m.tflite",
        confined=OPEN,
    ) as noisy:  # more than the log may hold; writing it fails quietly
        assert examine(noisy, model_file(classifier()), SETTINGS)[1] == []


SENT = "os.write(int(sys.orig_argv[5]), struct.pack('!IQ', len(text), 0) + text)"
FRAME = "import os, struct, sys\ntext = {!r}\n" + SENT + "\n"
HUGE = (
    b'{"inputs": [{"shape": [1e999], "name": "", "dtype": "", "scale": 0, "zero": 0}]}'
)


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        (
            "import os, sys\nos.write(int(sys.orig_argv[5]), b'\\xff' * 99)\n",
            "model-crashed",
            "the model broke its process",
        ),
        (FRAME.format(b"[" * 50_000), "model-crashed", "the model broke its process"),
        (FRAME.format(HUGE), "model-failed", "its tensors have no valid description"),
    ],
)
def test_nonsense_on_the_pipe_is_a_broken_process(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    code: str,
    said: str,
) -> None:
    (tmp_path / "sitecustomize.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with ModelProcess("m.tflite", confined=OPEN) as broken:
        error = failure(broken, classifier())
    assert error.code == code
    assert f"m.tflite: {said}" in error.sentence


def test_without_the_runtime_one_sentence_says_what_to_install(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "ai_edge_litert.py").write_text(
        "raise ModuleNotFoundError(name='ai_edge_litert')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with ModelProcess("m.tflite", confined=OPEN) as bare:
        error = failure(bare, classifier() + bytes(4 << 20))  # more than the pipe holds
    assert error.sentence.startswith(
        "running models needs ai_edge_litert, which is not installed: pip install "
    )
    assert error.facts == {"missing": "ai_edge_litert"}


def test_it_dies_with_the_harness_even_in_the_middle_of_a_model(tmp_path: Path) -> None:
    (tmp_path / "endless.tflite").write_bytes(endless())
    program = (
        "import sys; from pathlib import Path\n"
        "from lpirc_client.harness.model import read_model\n"
        "from lpirc_client.harness.model_settings import Settings\n"
        "from lpirc_client.harness.model_process import ModelProcess\n"
        "from lpirc_client.harness.validator import load\n"
        "process = ModelProcess('m')\n"
        "load(process, read_model(Path(sys.argv[1])), Settings('classification', 'resize'))\n"
        "from tests.contest_day import descendants_of\n"
        "print([process.pid, *descendants_of(process.pid)][-1], flush=True)\n"
        "process.ask('run', {'do': 'run', 'budget_ns': 1, 'slice_ns': 1}, 60, bytes(192))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "endless.tflite")],
        stdout=subprocess.PIPE,
    ) as harness:
        assert harness.stdout is not None
        model = os.pidfd_open(int(harness.stdout.readline()))
        harness.kill()
    assert has_ended(model)


def test_what_a_model_makes_the_runtime_say_is_one_printable_line(
    own: ModelProcess,
) -> None:
    error = failure(own, unknown_operator("Evil\x1b]0;gone\x07\nreferee: all is well"))
    assert error.code == "model-failed"
    assert error.sentence.isprintable()
    assert "unresolved custom op: Evil ]0;gone  referee: all is well" in error.sentence


def test_limits_larger_than_the_system_knows_are_no_limits(own: ModelProcess) -> None:
    settings = replace(SETTINGS, memory_mb=10**15, timeout_s=1e9)
    assert examine(own, model_file(classifier()), settings)[1] == []


def test_each_thread_has_the_processor_time_of_a_request(own: ModelProcess) -> None:
    load(own, model_file(classifier()), replace(SETTINGS, threads=4))
    own.ask("run", {"do": "repeat", "seconds": 0.001}, 100.0)
    soft, _ = resource.prlimit(inside(own), resource.RLIMIT_CPU)
    assert 400 < soft < 500


def test_a_models_process_does_not_inherit_passwords(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LPIRC_PASSWORD", "otters' own")
    monkeypatch.setenv("CLOUD_KEY", "otters' second")
    for confined, others in ((OPEN, 1), (None, 0)):
        with ModelProcess("m.tflite", confined=confined) as started:
            load(started, model_file(classifier()), SETTINGS)
            content = Path(f"/proc/{inside(started)}/environ").read_bytes()
            others = others if started.confinement.prefix else 1
            assert [
                content.count(words) for words in (b"otters' own", b"otters' second")
            ] == [0, others]
