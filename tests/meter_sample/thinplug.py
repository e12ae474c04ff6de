"""Stands for the maker's library: asks a plug for one line of JSON."""

import json
import socket


class Plug:
    def __init__(self, host, port, timeout_s):
        self.place = host, port
        self.timeout_s = timeout_s

    def about(self):
        return self._asked("about")

    def read(self):
        return self._asked("read")

    def _asked(self, question):
        with socket.create_connection(self.place, self.timeout_s) as link:
            link.sendall(f"{question}\n".encode())
            with link.makefile() as answer:
                line = answer.readline()
        if not line:
            raise ConnectionError("it closed the link")
        return json.loads(line)
