"""On Python without its global lock a second thread that records is refused."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
sys._is_gil_enabled = lambda: {lock}
import numpy as np, autoflow as af
x, X = af.Variable(2.0), af.Variable(np.ones(3))
refused = []
def record():
    for way in (lambda: x * x, lambda: np.exp(X), lambda: X.sum(axis=0), lambda: X[1:], lambda: np.median(X)):
        try:
            way()
        except af.errors.StateError as error:
            refused.append(str(error))
(x * x).backward()
thread = threading.Thread(target=record)
thread.start()
thread.join()
(x * x).backward()
print(len(refused), x.grad, *refused[:1])
"""


@pytest.mark.parametrize("lock", [True, False])
def test_a_second_thread_that_records_is_refused(lock):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(lock=lock)], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stderr == ""
    number, grad, *said = done.stdout.split(maxsplit=2)
    assert (number, grad) == ("0" if lock else "5", "8.0")
    assert not said if lock else "PYTHON_GIL=1" in said[0]
