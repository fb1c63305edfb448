"""How long each loop of a stretch takes: the same stretch once more, with a look at the clock after each loop.

Two looks at the clock lie 20 to 40 ns apart, so the times of loops of a few numbers are times of the clock.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np

from .engine import llvmlite
from .native import WORD, Native
from .text import Text

Array = Any
CLOCK = "clock_gettime"
LOOK = 2 * WORD  # bytes: C's struct timespec, seconds and nanoseconds


class Timed(Native):
    """A stretch with a clock in it. ``seconds``: the least that each of its loops has taken, in the order of its calls.

    One thread at a time may call it.
    """

    def __init__(self, native: Native) -> None:
        self.__dict__.update(native.__dict__)
        llvmlite().add_symbol(CLOCK, ctypes.cast(getattr(ctypes.CDLL(None), CLOCK), ctypes.c_void_p).value)
        self.free = []
        self.start = native.size  # the looks lie behind the memory of the stretch
        self.looks = len(self.schedule.calls) + 1
        self.size = native.size + LOOK * self.looks
        self.library, self.function = self.compile(self.text(self.write_look))
        self.seconds = np.full(self.looks - 1, np.inf)

    def write_look(self, t: Text, k: int) -> None:
        """What time is it?"""
        place = t.let(f"getelementptr i8, ptr %memory, i64 {self.start + LOOK * k}")
        t.call("i32", CLOCK, ("i32", str(time.CLOCK_MONOTONIC)), ("ptr", place))

    def look(self) -> None:
        """Keep what the clock said in the last run."""
        memory = self.free[-1]
        first = memory.address - memory.block.ctypes.data + self.start
        looks = memory.block[first : first + LOOK * self.looks].view(np.int64).reshape(-1, 2)
        self.seconds = np.minimum(self.seconds, np.diff(looks[:, 0]) + 1e-9 * np.diff(looks[:, 1]))

    def times(self) -> list[tuple[str, float]]:
        """The lines of :meth:`describe`, and how long all loops of a line take."""
        totals = dict.fromkeys(self.schedule.counts, 0.0)
        for key, seconds in zip(self.schedule.order, self.seconds, strict=True):
            totals[key] += float(seconds)
        return [*zip(self.describe(), totals.values(), strict=True)]
