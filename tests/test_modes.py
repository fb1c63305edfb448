"""Switches: recording, options; per thread and per task, nested, and right again after an exception."""

import asyncio
import threading

import numpy as np
import pytest

import autoflow as af


def test_no_grad_records_nothing():
    x = af.Variable(2.0)
    with af.no_grad():
        assert isinstance(x * x, af.Constant)
        assert not af.is_grad_enabled()
        with af.enable_grad():
            assert isinstance(x * x, af.Operation)
        assert isinstance(np.sin(x), af.Constant)
    assert isinstance(x * x, af.Operation)


@pytest.mark.parametrize("decorate", [af.no_grad, af.no_grad()])
def test_no_grad_as_a_decorator(decorate):
    @decorate
    def f(x):
        """Doc."""
        return x * x

    assert isinstance(f(af.Variable(2.0)), af.Constant)
    assert f.__doc__ == "Doc."
    assert f.__name__ == "f"
    assert af.is_grad_enabled()


def test_enable_grad_as_a_decorator():
    @af.enable_grad
    def f(x):
        return x * x

    with af.no_grad():
        assert isinstance(f(af.Variable(2.0)), af.Operation)


def test_one_instance_nests_and_is_used_again():
    off = af.no_grad()
    with off, off:
        assert not af.is_grad_enabled()
    assert af.is_grad_enabled()
    with off:
        assert not af.is_grad_enabled()


def test_modes_are_restored_after_an_exception():
    with pytest.raises(KeyboardInterrupt), af.no_grad():
        raise KeyboardInterrupt
    assert af.is_grad_enabled()


def test_set_grad_enabled():
    with af.set_grad_enabled(False):
        assert not af.is_grad_enabled()
    assert af.is_grad_enabled()
    af.set_grad_enabled(False)
    assert not af.is_grad_enabled()
    af.set_grad_enabled(True)
    assert af.is_grad_enabled()

    @af.set_grad_enabled(False)
    def f():
        return af.is_grad_enabled()

    assert af.is_grad_enabled()
    assert not f()


def test_threads_do_not_disturb_each_other():
    seen = []
    with af.no_grad():
        thread = threading.Thread(target=lambda: seen.append(af.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_tasks_do_not_disturb_each_other():
    @af.no_grad
    async def off():
        await asyncio.sleep(0.001)
        return af.is_grad_enabled()

    async def on():
        await asyncio.sleep(0.0005)
        return af.is_grad_enabled()

    async def both():
        return await asyncio.gather(off(), on())

    assert asyncio.run(both()) == [False, True]


def test_generators_cannot_be_decorated():
    with pytest.raises(TypeError, match="Put the with statement inside"):

        @af.no_grad
        def f():
            yield 1


def test_options():
    assert af.options.keep == 4096
    with af.options(keep=0, digits=6):
        assert (af.options.keep, af.options.digits) == (0, 6)
    assert af.options.keep == 4096
    af.options.digits = 7
    assert af.options.digits == 7
    assert "digits=7" in repr(af.options)
    assert "keep" in dir(af.options)
    af.options.digits = 4
    with pytest.raises(AttributeError, match="there is no option 'kep'"):
        af.options.kep = 3
    with pytest.raises(TypeError, match="must be of type int"):
        af.options.keep = 0.5
    with pytest.raises(TypeError, match="one of 'auto', 'light', 'dark'"):
        af.options(theme="pink")
