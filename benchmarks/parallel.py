"""``af.data_parallel``: bits, the driver's time, bytes, memory, scaling over the cores there are, simulated workers.

    OPENBLAS_NUM_THREADS=1 python benchmarks/parallel.py [bits driver bytes memory cores simulated] [--megabytes 880]

Targets: one digest for all engines; at most 0.1 ms of the driver's CPU for each part in groups of 16; at most 100 MB of
private memory for a file of 880 MB; two processes at least 1.7 times one on a quiet machine with two cores; 64
simulated workers at least 95 % busy.

Cores are said to be quiet or not: wall times of a busy machine mean nothing. Workers beyond the cores are simulated:
what the driver does for each job is done and timed, what a worker does is a number of seconds on a clock that is only
counted.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import os
import pickle
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from measuring import digits, fresh, setting, table

import autoflow as af

Array = Any
SIZES = (50, 64, 10)  # a network; 31 KB of parameters
SECONDS, LATENCY = 1.0, 1e-3  # of a simulated part, and of a message
MB = 1e6


def loss(p: Any, x: Any, y: Any) -> Any:
    """Of a network, a mean over examples."""
    return np.mean((np.tanh(x @ p["w"] + p["b"]) @ p["v"] - y) ** 2)


def parameters(sizes: tuple[int, int, int] = SIZES) -> dict[str, Array]:
    """To begin with."""
    n, m, k = sizes
    rng = np.random.default_rng(0)
    return {"w": rng.normal(size=(n, m)) / n**0.5, "b": np.zeros(m), "v": rng.normal(size=(m, k)) / m**0.5}


def examples(rows: int, sizes: tuple[int, int, int] = SIZES) -> tuple[Array, Array]:
    """Inputs and targets."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(rows, sizes[0])), rng.normal(size=(rows, sizes[2]))


def step(**how: Any) -> Callable[..., Any]:
    """Value and gradient in parts."""
    return af.value_and_grad(af.data_parallel(loss, over=("x", "y"), **how))


def processes(n: int) -> ProcessPoolExecutor:
    """A pool of new Pythons."""
    return ProcessPoolExecutor(n, mp_context=get_context("spawn"))


# -- bits --------------------------------------------------------------------------------------------------------------


def digest(tree: Any) -> str:
    """Of all bits."""
    found = hashlib.sha256()
    for x in af.pytree.tree_leaves(tree):
        found.update(np.asarray(x).tobytes())
    return found.hexdigest()[:12]


def bits() -> str:
    """One digest from every engine of this machine."""
    p, (x, y) = parameters(), examples(4003)
    whole = af.value_and_grad(loss)(p, x, y)
    found = {"one after the other": step()(p, x, y)}
    with ThreadPoolExecutor(3) as pool:
        found["3 threads"] = step(workers=pool)(p, x, y)
    with processes(2) as pool:
        found["2 processes"] = step(workers=pool)(p, x, y)
        found["2 processes, 4 parts together"] = step(workers=pool, together=4)(p, x, y)
        with tempfile.TemporaryDirectory() as folder:
            files = [write_file(Path(folder, name), array) for name, array in (("x", x), ("y", y))]
            found["2 processes, memmaps"] = step(workers=pool)(p, *files)
    if find_spec("loky"):
        from loky import ProcessPoolExecutor as Loky

        with Loky(2) as pool:
            found["loky, 2 processes"] = step(workers=pool)(p, x, y)
    rows = [[name, digest(answer), f"{distance(answer, whole):.1e}"] for name, answer in found.items()]
    return table(["16 parts of 4,003 rows", "digest", "from one piece"], rows)


def distance(a: Any, b: Any) -> float:
    """The largest difference."""
    pairs = zip(af.pytree.tree_leaves(a), af.pytree.tree_leaves(b), strict=True)
    return max([float(np.max(np.abs(x - y))) for x, y in pairs])


def write_file(path: Path, x: Array) -> np.memmap:
    """The array as a file."""
    file = np.memmap(path, x.dtype, "w+", shape=x.shape)
    file[:] = x
    file.flush()
    return file


# -- the driver, and what travels --------------------------------------------------------------------------------------


class Sent:
    """A map that does what a driver does: pickles each job, and unpickles an answer like a worker's."""

    def __init__(self) -> None:
        self.sent = self.received = self.jobs = 0
        self.answer = b""

    def __call__(self, f: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
        """Only the first job is computed; its answer serves for all."""
        for job in jobs:
            data = pickle.dumps((f, job))
            self.answer = self.answer or pickle.dumps(f(job))
            self.sent, self.received, self.jobs = self.sent + len(data), self.received + len(self.answer), self.jobs + 1
            yield pickle.loads(self.answer)  # noqa: S301 - ours


def driver() -> str:
    """CPU of the driver alone, per part."""
    p, (x, y) = parameters(), examples(64 * 16)
    variables = {name: af.Variable(v) for name, v in p.items()}
    rows = []
    with processes(1) as pool:
        for together in (1, 4, 16):
            best = {}
            for name, workers in (("sums", Sent()), ("all", pool)):
                run = af.data_parallel(loss, over=("x", "y"), workers=workers, chunks=64, together=together)
                run(variables, x, y)
                best[name] = min(cpu_of(run, variables, x, y) for _ in range(10)) / 64 * 1e3
            rows.append([str(together), digits(best["sums"]), digits(best["all"])])
    return table(["parts together; driver's CPU per part, ms", "jobs and sums", "with a pool of processes"], rows)


def cpu_of(run: Callable[..., Any], *args: Any) -> float:
    """Seconds of CPU of this process, all of its threads."""
    start = time.process_time()
    run(*args)
    return time.process_time() - start


def moved() -> str:
    """Bytes per step: data as arrays travel, data in files do not."""
    p, (x, y) = parameters(), examples(40_003)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        files = [write_file(Path(folder, name), array) for name, array in (("x", x), ("y", y))]
        for name, data in (("arrays", (x, y)), ("memmaps", files)):
            for together in (1, 4):
                sent = Sent()
                step(workers=sent, together=together)(p, *data)
                rows.append([f"{name}, {together} together", digits(sent.sent / MB), digits(sent.received / MB)])
    return table(["16 parts; MB", "sent", "received"], rows)


# -- memory ------------------------------------------------------------------------------------------------------------


def private_memory() -> float:
    """What this process holds and no file does, in MB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("RssAnon"))) / 1e3


def measure_memory(path: str, rows: int, chunks: int) -> None:
    """In a process of its own: the peak of its private memory, as JSON."""
    sizes = (50, 8, 1)
    x = np.memmap(path, float, "r", shape=(rows, sizes[0]))
    p, peak, done = parameters(sizes), [private_memory()], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            peak[0] = max(peak[0], private_memory())

    thread = threading.Thread(target=watch)
    thread.start()
    start = time.process_time()
    step(chunks=chunks)(p, x, np.broadcast_to(0.5, (rows, 1)))
    done.set()
    thread.join()
    print(f'{{"peak": {peak[0]}, "cpu": {time.process_time() - start}}}')


def memory(megabytes: int) -> str:
    """A file larger than one likes to hold."""
    rows = megabytes * 10**6 // (50 * 8)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x")
        with path.open("wb") as file:
            file.truncate(rows * 50 * 8)
        for chunks in (1, 32, 256):
            got = fresh(__file__, "--measure", str(path), str(rows), str(chunks))
            found.append([str(chunks), digits(got["peak"]), digits(got["cpu"])])
    return table([f"parts of a file of {megabytes} MB", "private memory, MB", "CPU, s"], found)


# -- workers, real and simulated ---------------------------------------------------------------------------------------


def cores() -> str:
    """Processes up to the number of cores, with enough to compute."""
    sizes = (200, 512, 10)
    p, usable = parameters(sizes), len(os.sched_getaffinity(0))
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        arrays = zip("xy", examples(16_000, sizes), strict=True)
        files = [write_file(Path(folder, name), array) for name, array in arrays]
        for n in sorted({1, 2, usable}):
            with processes(n) as pool:
                run = step(workers=pool, chunks=max(16, 2 * n))
                run(p, *files)
                times[n] = min(timed(run, p, *files) for _ in range(5))
    rows = [[str(n), digits(t * 1e3), digits(times[1] / t)] for n, t in times.items()]
    load = os.getloadavg()[0]
    state = "quiet" if load < 0.5 * usable else "busy: these times mean nothing"
    return f"{table(['processes', 'ms', 'times one'], rows)}\n\nload {load:.1f} for {usable} cores: {state}"


def timed(run: Callable[..., Any], *args: Any) -> float:
    """Seconds."""
    start = time.perf_counter()
    run(*args)
    return time.perf_counter() - start


class Simulated:
    """A map of so many workers, on a clock that is only counted; the driver's work is done, and timed."""

    def __init__(self, workers: int) -> None:
        self.workers, self.clock = workers, 0.0

    def __call__(self, f: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
        """All jobs go out at once, to whichever worker is free first; answers are taken in order."""
        free, finished, answer, now = [0.0] * self.workers, [], b"", 0.0
        for job in jobs:
            start = time.process_time()
            pickle.dumps((f, job))
            now += time.process_time() - start
            answer = answer or pickle.dumps(f(job))
            ready = max(heapq.heappop(free), now + LATENCY) + SECONDS * len(job[1])
            heapq.heappush(free, ready)
            finished.append(ready + LATENCY)
        for ready in finished:
            now, start = max(now, ready), time.process_time()
            yield pickle.loads(answer)  # noqa: S301 - ours; until the next one is asked for it is added
            now += time.process_time() - start
        self.clock = now


def simulated() -> str:
    """How busy many workers are, four parts for each."""
    rows = []
    for workers in (4, 16, 64, 256, 1000):
        x, y = examples(4 * workers)
        engine = Simulated(workers)
        step(workers=engine, chunks=4 * workers)(parameters(), x, y)
        rows.append([str(workers), f"{4 * SECONDS / engine.clock:.1%}"])
    return table([f"simulated workers, {SECONDS:g} s a part, {LATENCY * 1e3:g} ms a message", "busy"], rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="af.data_parallel: bits, driver, bytes, memory, cores, simulated.")
    parser.add_argument("what", nargs="*", help="which tables (all)")
    parser.add_argument("--megabytes", type=int, default=880, help="size of the file that is read in parts (880)")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        path, rows, chunks = given.measure
        measure_memory(path, int(rows), int(chunks))
        return
    tables = {"bits": bits, "driver": driver, "bytes": moved, "memory": lambda: memory(given.megabytes),
              "cores": cores, "simulated": simulated}  # fmt: skip
    for name in given.what or tables:
        print(tables[name](), "", sep="\n", flush=True)
    print(setting())


if __name__ == "__main__":
    main()
