"""Stands for a plug with a lamp of 36 W behind it: `python fake_plug.py 8123`."""

import json
import socketserver
import sys
import time

BEGAN_S = time.monotonic()
ABOUT = {"model": "TP-1", "serial": "0815", "firmware": "1.0"}


class Answers(socketserver.StreamRequestHandler):
    def handle(self):
        question = self.rfile.readline().decode().strip()
        counted_mwh = 36e3 * (time.monotonic() - BEGAN_S) / 3600
        shown = {"mV": 230e3, "mA": 156.6, "mW": 36e3, "counter_mWh": int(counted_mwh)}
        answer = ABOUT if question == "about" else shown
        self.wfile.write(json.dumps(answer).encode() + b"\n")


socketserver.ThreadingTCPServer.allow_reuse_address = True  # started again at once
with socketserver.ThreadingTCPServer(
    ("127.0.0.1", int(sys.argv[1])), Answers
) as server:
    print(f"thin:127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
