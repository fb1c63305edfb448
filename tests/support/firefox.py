"""A headless Firefox for tests, spoken to by WebDriver BiDi over a socket on this machine: no driver, no network."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pytest

PROGRAMS = ("firefox-esr", "firefox")
SECONDS = 120


@contextlib.contextmanager
def firefox() -> Iterator[Firefox]:
    """The program, with one page. Skips the test where there is none, or nothing to speak to it with."""
    websocket = pytest.importorskip("websocket")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("firefox is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        options = ["--headless", "--no-remote", "--profile", folder, "--remote-debugging-port", str(port)]
        with subprocess.Popen(
            [program, *options], env=os.environ | {"HOME": folder}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            try:
                with contextlib.closing(connected(websocket, port, process)) as connection:
                    yield Firefox(connection)
            finally:
                process.terminate()


def connected(websocket: Any, port: int, process: subprocess.Popen[bytes]) -> Any:
    """The socket, as soon as it answers."""
    end = time.monotonic() + SECONDS
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError):
            return websocket.create_connection(f"ws://127.0.0.1:{port}/session", timeout=SECONDS, suppress_origin=True)
        time.sleep(0.2)
    raise TimeoutError("firefox does not start")


class Firefox:
    """One page: :meth:`go`, :meth:`run`, :meth:`until`; ``requests`` and ``complaints`` are noted."""

    def __init__(self, connection: Any) -> None:
        self.connection, self.number = connection, 0
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["network.beforeRequestSent", "log.entryAdded"])
        self.context = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method: str, **params: Any) -> Any:
        """One command, and its answer."""
        self.number += 1
        self.connection.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            answer = json.loads(self.connection.recv())
            if answer.get("id") == self.number:
                if answer["type"] == "error":
                    raise RuntimeError(f"{method}: {answer}")
                return answer["result"]
            if answer.get("method") == "network.beforeRequestSent":
                self.requests.append(answer["params"]["request"]["url"])
            elif answer.get("method") == "log.entryAdded" and answer["params"]["level"] in ("error", "warn"):
                self.complaints.append(answer["params"]["text"])

    def go(self, url: str) -> None:
        self.call("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        target = {"context": self.context}
        answer = self.call(
            "script.evaluate", expression=f"JSON.stringify({expression})", target=target, awaitPromise=True
        )
        if answer["type"] != "success":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        text = answer["result"].get("value")
        return None if text is None else json.loads(text)

    def until(self, expression: str, seconds: float = SECONDS) -> None:
        end = time.monotonic() + seconds
        while not self.run(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"{expression}: {self.run('document.body.innerText')[:2000]}")
            time.sleep(0.1)
