"""Tests that go through many seeds: the first ones by day, all of them at night, in chunks that run side by side."""

import pytest


def make_seed_tests(check, few, many, chunk, chunk_at_night):
    """Two tests: ``check(seed)`` of every seed below ``few``, and of those from there to ``many``."""

    def run(seeds):
        for seed in seeds:
            check(seed)

    @pytest.mark.slow
    @pytest.mark.parametrize("seeds", chunks(0, few, chunk), ids=first_of)
    def by_day(seeds):
        run(seeds)

    @pytest.mark.nightly
    @pytest.mark.parametrize("seeds", chunks(few, many, chunk_at_night), ids=first_of)
    def by_night(seeds):
        run(seeds)

    return by_day, by_night


def chunks(start, stop, size):
    """The numbers from ``start`` to ``stop``, so many at a time."""
    return [range(k, min(k + size, stop)) for k in range(start, stop, size)]


def first_of(seeds):
    """The name of a chunk."""
    return str(seeds.start)
