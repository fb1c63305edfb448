"""Switches: recording, options; per thread and per task, nested, and right again after an exception."""

import asyncio
import itertools
import traceback
from concurrent import futures
from contextvars import copy_context

import numpy as np
import pytest
from interrupts import signals
from threads import in_threads

import autoflow as af
from autoflow.base.modes import OTHER, modes, switched, switched_elsewhere
from autoflow.transforms.evaluation import TRANSFORMING


def test_no_grad_records_nothing():
    x = af.Variable(2.0)
    with af.no_grad():
        assert isinstance(x * x, af.Constant)
        assert not af.is_grad_enabled()
        with af.enable_grad():
            assert isinstance(x * x, af.Operation)
        assert isinstance(np.sin(x), af.Constant)
    assert isinstance(x * x, af.Operation)


@pytest.mark.parametrize(("decorate", "kind"), [
    (af.no_grad, af.Constant), (af.no_grad(), af.Constant), (af.enable_grad, af.Operation),
])  # fmt: skip
def test_decorators(decorate, kind):
    @decorate
    def f(x):
        """Doc."""
        return x * x

    with af.set_grad_enabled(kind is af.Constant):
        assert isinstance(f(af.Variable(2.0)), kind)
        assert af.is_grad_enabled() is (kind is af.Constant)
    assert (f.__name__, f.__doc__) == ("f", "Doc.")


def test_one_instance_nests_and_is_used_again_after_an_exception():
    off = af.no_grad()
    with pytest.raises(KeyboardInterrupt), off, off:
        raise KeyboardInterrupt
    assert af.is_grad_enabled()
    with off:
        with off:
            pass
        assert not af.is_grad_enabled()
    assert af.is_grad_enabled()


def test_set_grad_enabled():
    with af.set_grad_enabled(False):
        assert not af.is_grad_enabled()
    assert af.is_grad_enabled()
    for on in (False, True):
        af.set_grad_enabled(on)
        assert af.is_grad_enabled() is on
    f = af.set_grad_enabled(False)(lambda: af.is_grad_enabled())
    assert af.is_grad_enabled()
    assert not f()


def test_threads_do_not_disturb_each_other():
    with af.no_grad():
        assert in_threads(af.is_grad_enabled) == [True]


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


def test_a_decorated_generator_does_not_leak_into_its_consumer():
    @af.no_grad
    def off(n):
        """Doc."""
        got = []
        for _ in range(n):
            assert not af.is_grad_enabled()
            got.append((yield af.is_grad_enabled()))
        return got

    assert off.__doc__ == "Doc."
    for inside in off(3):
        assert (inside, af.is_grad_enabled()) == (False, True)
    for a, b in zip(off(2), off(3), strict=False):
        assert (a, b, af.is_grad_enabled()) == (False, False, True)
    assert af.is_grad_enabled()
    running = off(2)
    next(running)
    with af.no_grad():
        running.send("x")  # it may go on in another mode than it began
    with pytest.raises(StopIteration) as stop:
        running.send("y")
    assert stop.value.value == ["x", "y"]


def test_a_decorated_generator_gets_exceptions_and_its_end():
    seen = []

    @af.no_grad
    def off():
        try:
            while True:
                try:
                    yield 1
                except KeyError:
                    seen.append(("thrown", af.is_grad_enabled()))
        finally:
            seen.append(("closed", af.is_grad_enabled()))

    running = off()
    next(running)
    assert running.throw(KeyError()) == 1
    running.close()
    assert seen == [("thrown", False), ("closed", False)]
    failing = off()
    next(failing)
    with pytest.raises(ZeroDivisionError):
        failing.throw(ZeroDivisionError())
    assert af.is_grad_enabled()


def test_a_decorated_async_generator():
    @af.no_grad()
    async def off():
        try:
            for _ in range(3):
                await asyncio.sleep(0)
                yield af.is_grad_enabled()
        finally:
            assert not af.is_grad_enabled()

    async def use():
        seen = [(inside, af.is_grad_enabled()) async for inside in off()]
        stopped = off()
        await anext(stopped)
        await stopped.aclose()
        thrown = off()
        await anext(thrown)
        with pytest.raises(KeyError):
            await thrown.athrow(KeyError())
        return seen, af.is_grad_enabled()

    assert asyncio.run(use()) == ([(False, True)] * 3, True)


def passes(log):
    try:
        yield 1
    finally:
        log.append(af.is_grad_enabled())


def returns(log):
    try:
        yield 1
    except GeneratorExit:
        log.append(af.is_grad_enabled())
        return 2


def goes_on(log):
    try:
        yield 1
    except GeneratorExit:
        log.append(af.is_grad_enabled())
        yield 3


@pytest.mark.parametrize("body", [passes, returns, goes_on], ids=lambda f: f.__name__)
@pytest.mark.parametrize("end", [lambda it: it.close(), lambda it: it.throw(GeneratorExit)], ids=["close", "throw"])
def test_a_decorated_generator_ends_as_it_does_without(body, end):
    """Its end is an exception like any other: what the generator makes of it is what the caller sees."""

    def outcome(function):
        seen, log = [], []
        running = function(log)
        next(running)
        try:
            seen.append(end(running))
        except BaseException as error:
            seen += type(error), getattr(error, "value", str(error))
        del running
        return seen, len(log), set(log)

    expected, times, _ = outcome(body)
    assert outcome(af.no_grad(body)) == (expected, times, {False})
    assert af.is_grad_enabled()


BLOCKS = {
    "no_grad": af.no_grad, "enable_grad": af.enable_grad, "set_grad_enabled": lambda: af.set_grad_enabled(False),
    "options": lambda: af.options(digits=7), "safe_masking": af.safe_masking, "detect_anomaly": af.detect_anomaly,
    "checkpointing": af.checkpointing, "scope": lambda: af.scope("s"),
}  # fmt: skip


def test_blocks_that_end_in_another_order_leave_nothing_behind():
    """Each block undoes its own changes, whichever others are open: as in generators that take turns."""
    start = modes()
    for kinds, order in itertools.product(itertools.permutations(BLOCKS, 3), itertools.permutations(range(3))):
        entered = [BLOCKS[kind]().__enter__() for kind in kinds]
        for k in order:
            entered[k].__exit__(None, None, None)
        assert modes() == start, (kinds, order)
        assert modes().blocks == (), (kinds, order)


def test_of_open_blocks_the_others_hold():
    off, digits = af.no_grad(), af.options(digits=7)
    off.__enter__()
    digits.__enter__()
    off.__exit__(None, None, None)
    assert (af.is_grad_enabled(), af.options.digits) == (True, 7)
    digits.__exit__(None, None, None)
    assert af.options.digits == 4


def test_generators_that_take_turns_restore_the_mode():
    """A ``with`` around a ``yield`` holds for the consumer (so Python has it), but no longer than it is open."""

    def batches(n):
        for k in range(n):
            with af.no_grad():
                yield k

    for n, m in itertools.product(range(1, 4), repeat=2):
        for _ in zip(batches(n), batches(m), strict=False):
            assert not af.is_grad_enabled()
        assert af.is_grad_enabled()
    first, second = batches(1), batches(1)
    next(first), next(second)
    assert next(first, None) is None
    assert not af.is_grad_enabled()
    second.close()
    assert af.is_grad_enabled()


def test_a_block_that_another_thread_entered_changes_nothing_here():
    off = af.no_grad()
    in_threads(off.__enter__)
    with af.options(digits=7):
        off.__exit__(None, None, None)
        assert (af.is_grad_enabled(), af.options.digits) == (True, 7)
    with off:  # and in one instance that both use nobody takes the other's
        in_threads(lambda: off.__enter__().__exit__())
        assert not af.is_grad_enabled()
    assert af.is_grad_enabled()


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


def test_an_interrupt_while_a_block_is_entered_leaves_nothing_behind():
    """While it is left, Python itself has a gap of one instruction, before ``__exit__`` begins."""
    interrupted = []

    def act():
        try:
            with af.no_grad():
                pass
        except KeyboardInterrupt as error:
            frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
            interrupted.append(frames[-2].f_code.co_name)  # the last one is of who interrupts
            if interrupted[-1] != "__exit__":
                assert af.is_grad_enabled()
            raise

    n = 0
    while copy_context().run(signals, act, n) == n:
        n += 1
    assert {"__enter__", "__exit__"} <= set(interrupted)


def test_a_preset_holds_at_once_and_in_a_block_until_its_end():
    assert af.options.preset == "default"
    with af.options(preset="classroom", digits=6):
        assert (af.options.preset, af.options.strict, af.options.digits) == ("classroom", True, 6)
        with af.options(preset="default"):
            assert (af.options.preset, af.options.strict, modes().listeners) == ("default", False, ())
        with af.options(preset="classroom"):
            assert len(modes().listeners) == 1
        assert af.options.preset == "classroom"
    assert (af.options.preset, af.options.strict, af.options.digits, modes().listeners) == ("default", False, 4, ())
    with af.options(keep=8):
        block = af.options(preset="classroom")
        af.options.keep = 9  # between the call and the block
        with block:
            assert (af.options.preset, af.options.keep) == ("classroom", 9)
        assert (af.options.preset, af.options.keep) == ("default", 9)
    try:
        af.options(preset="classroom")
        assert af.options.preset == "classroom"
        af.options.preset = "default"
        assert (af.options.preset, modes().listeners) == ("default", ())
    finally:
        af.options.preset = "default"


def test_a_preset_as_a_decorator():
    inside = af.options(preset="classroom")(lambda: af.options.preset)
    assert (af.options.preset, inside(), inside()) == ("default", "classroom", "classroom")
    assert af.options.preset == "default"
    assert "preset" in dir(af.options)


def test_what_a_transform_begins_with_follows_the_switches_around_it():
    """They are remembered, and must be made anew for other switches, also where those of new threads change."""

    def inside():
        with TRANSFORMING:
            found = modes()
        return {name: getattr(found, name) for name in ("recording", "depth", "strict", "shadow", "listeners", "keep")}

    def heard(_):
        pass

    usual = inside()
    assert usual == {**usual, "recording": True, "depth": 1, "strict": False, "shadow": 0, "listeners": ()}
    changes = [{"recording": False}, {"strict": True}, {"shadow": OTHER}, {"listeners": (heard,)}, {"keep": 3}, {}]
    for change in [*changes, *changes]:
        with switched(**change):
            assert inside() == {**usual, **change, "recording": True}
            with TRANSFORMING:
                assert inside() == {**usual, **change, "recording": True, "depth": 2}
    for shadow, listeners in ((OTHER, ()), (0, (heard,)), (0, ())):
        with futures.ThreadPoolExecutor(1) as pool:  # one thread, which keeps what it remembers
            with switched_elsewhere(shadow, {}, listeners):
                found = pool.submit(inside).result()
            assert found == {**usual, "shadow": shadow, "listeners": listeners}
            assert pool.submit(inside).result() == usual
