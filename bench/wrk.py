"""The load generator wrk: one run of it, as figures."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPT = """
local file = io.open(os.getenv("WRK_PLAN"))
local requests, n, rate = {}, 0, tonumber(os.getenv("WRK_RATE"))
local separator = "\\1"
for part in string.gmatch(file:read("*a"), "[^" .. separator .. "]+") do requests[#requests + 1] = part end
file:close()
request = function() n = n % #requests + 1; return requests[n] end
if rate > 0 then
  -- Each request has its time: one that is late does not put off those after it.
  local ffi = require("ffi")
  ffi.cdef("typedef struct { long s, ns; } moment; int clock_gettime(int, moment *);")
  local now, due_ms = ffi.new("moment"), nil
  delay = function()
    ffi.C.clock_gettime(1, now)
    local now_ms = tonumber(now.s) * 1e3 + tonumber(now.ns) / 1e6
    due_ms = (due_ms or now_ms) + 1e3 / rate
    return math.max(due_ms - now_ms, 0)
  end
end
done = function(summary, latency, all)
  io.write(string.format(
    '\\nJSON{"requests":%d,"bytes":%d,"duration_s":%.6f,"p50_ms":%.4f,"p99_ms":%.4f,' ..
    '"refused":%d,"broken":%d}\\n',
    summary.requests, summary.bytes, summary.duration / 1e6, latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3, summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
"""


@dataclass(frozen=True)
class Load:
    """What one run of wrk measured. Times in milliseconds, from the request's first byte to the answer's last."""

    requests: int
    bytes: int
    duration_s: float
    p50_ms: float
    p99_ms: float

    @property
    def rate_per_s(self) -> float:
        """Answers per second."""
        return self.requests / self.duration_s

    @property
    def bytes_per_s(self) -> float:
        """Bytes received per second."""
        return self.bytes / self.duration_s


def is_installed() -> bool:
    """Whether wrk can be started."""
    return shutil.which("wrk") is not None


def get(path: str, token: str = "") -> bytes:
    """A GET request as it travels."""
    authorization = f"Authorization: Bearer {token}\r\n" if token else ""
    return f"GET {path} HTTP/1.1\r\nHost: referee\r\n{authorization}\r\n".encode()


def post(path: str, body: bytes, content_type: str, token: str) -> bytes:
    """A POST request as it travels."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: referee\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@dataclass(frozen=True)
class Running:
    """A wrk at work, and the folder with what it is to send."""

    process: subprocess.Popen[str]
    folder: tempfile.TemporaryDirectory[str]


def start(
    url: str, requests: Sequence[bytes], connections: int, seconds: float, rate_per_s: float = 0.0
) -> Running:
    """Start wrk with these requests, one after the other on every connection; so many a second, or as fast as it goes.

    The rate is kept as long as the answers take less than `connections` / `rate_per_s`.
    """
    temporary = tempfile.TemporaryDirectory(prefix="wrk-")
    folder = Path(temporary.name)
    (folder / "plan").write_bytes(b"\1".join(requests))
    (folder / "script.lua").write_text(SCRIPT)
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--timeout", "30s"]
    environment = os.environ | {"WRK_PLAN": str(folder / "plan"), "WRK_RATE": f"{rate_per_s:g}"}
    process = subprocess.Popen(  # noqa: S603  the tool is asked for by name
        [*command, "-s", str(folder / "script.lua"), url],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Running(process, temporary)


def result(running: Running) -> Load:
    """Wait for wrk to end; RuntimeError if an answer was refused or a connection broke: such a figure says nothing."""
    with running.folder:
        output, _ = running.process.communicate()
    figures: dict[str, Any] = json.loads(output.rpartition("JSON")[2])
    refused, broken = figures.pop("refused"), figures.pop("broken")
    if refused or broken or running.process.returncode:
        raise RuntimeError(f"wrk: {refused} answers were refused, {broken} connections broke: {output}")
    return Load(**figures)


def run(url: str, requests: Sequence[bytes], connections: int, seconds: float) -> Load:
    """Run wrk to its end."""
    return result(start(url, requests, connections, seconds))
