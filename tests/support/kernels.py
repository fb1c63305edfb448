"""Kernels that start at once: forks of a process that has imported what every notebook needs but for autoflow.

Each is fresh, as a new process of Jupyter's would be, without the seconds for IPython, matplotlib and scikit-learn:

    with kernels.forked(folder) as jupyter_path: ...     # where Jupyter finds them as python3

By night, and where processes cannot be forked, kernels are Jupyter's own.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOADED = "matplotlib.pyplot ipykernel.kernelapp sklearn.datasets scipy.optimize PIL"


@contextmanager
def forked(folder: Path) -> Iterator[str]:
    """A JUPYTER_PATH on which kernels are forks, as long as the block runs. ``folder`` has a short path."""
    address = str(folder / "kernels")
    spec = folder / "jupyter" / "kernels" / "python3"
    spec.mkdir(parents=True)
    command = [sys.executable, "-I", "-S", __file__, address, "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "Python 3", "language": "python"}))
    environment = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline", "OPENBLAS_NUM_THREADS": "1"}
    server = subprocess.Popen(
        [sys.executable, __file__, address], env=environment, stdout=subprocess.PIPE, cwd=folder, encoding="utf-8"
    )
    try:
        if server.stdout.readline() != "ready\n":  # type: ignore[union-attr]
            raise RuntimeError("the process that forks kernels does not start")
        yield str(folder / "jupyter")
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()  # type: ignore[union-attr]


def serve(address: str) -> None:
    """Fork a kernel for each that asks, and tell them when it has ended."""
    for name in LOADED.split():
        __import__(name)
    del sys.path[0]  # the folder of this file
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            asking, _ = listener.accept()
            asked = json.loads(asking.makefile().readline())
            if os.fork() == 0:
                listener.close()
                run(**asked)
            asking.close()  # the kernel has it still, until it ends


def run(options: list[str], folder: str, environment: dict[str, str]) -> None:
    """In a fork: a kernel, to its end."""
    from ipykernel.kernelapp import IPKernelApp

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setpgid(0, 0)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    try:
        IPKernelApp.launch_instance(argv=options)
    finally:
        os._exit(0)


def ask(address: str, *options: str) -> None:
    """What Jupyter starts as a kernel: asks for a fork, and ends when that has ended."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(address)
        asked = {"options": options, "folder": os.getcwd(), "environment": dict(os.environ)}
        asking.sendall(json.dumps(asked).encode() + b"\n")
        asking.recv(1)


if __name__ == "__main__":
    serve(*sys.argv[1:]) if len(sys.argv) == 2 else ask(*sys.argv[1:])
