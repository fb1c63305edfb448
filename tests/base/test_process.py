"""Switches of the process: the collector that rests, the allocator that is warmed."""

import gc
import sys
import threading
import time

import pytest
from processes import alone
from threads import in_threads

import autoflow as af
from autoflow.base import process


def test_gc_paused_nests_and_restores():
    assert gc.isenabled()
    with af.gc_paused():
        with af.gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), af.gc_paused():
        raise KeyError
    assert gc.isenabled()
    gc.disable()
    try:
        with af.gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

    @af.gc_paused()
    def inside():
        return gc.isenabled()

    assert not inside()
    assert gc.isenabled()


def test_gc_paused_in_threads():
    """The collector runs again when the last of all blocks has ended, whichever that is."""
    inside, seen = threading.Barrier(2, timeout=10), []

    def work(wait):
        with af.gc_paused():
            inside.wait()
            time.sleep(wait)
            seen.append(gc.isenabled())

    in_threads(lambda: work(0.0), lambda: work(0.05))
    assert seen == [False, False]
    assert gc.isenabled()
    assert process.PAUSES == [0]


@pytest.mark.skipif(sys.platform != "linux", reason="glibc only")
def test_warm_allocator_is_never_done_at_import():
    code = """
        import numpy, resource, autoflow
        def faults():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            for _ in range(20):
                x = numpy.ones(100_000)
                x * 2 + x * 3 - x
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        cold = faults()
        autoflow.warm_allocator()
        faults()
        print(cold, min(faults() for _ in range(5)))  # now and then the system moves memory
        """
    cold, warm = map(int, alone(code).split())
    if cold < 1000:
        pytest.skip("this C library keeps freed memory by itself")
    assert warm < cold / 10
