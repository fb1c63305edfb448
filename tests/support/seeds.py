"""Tests with many cases: some by day, all of them at night. Those of seeds run in chunks, side by side."""

import pytest


def by_day(cases, chosen, name=str):
    """The cases for ``parametrize``, with names: the chosen names by day, the others at night."""
    names = {name(case) for case in cases}
    assert {*chosen} <= names
    return by_night(cases, names - {*chosen}, name)


def by_night(cases, dear, name=str):
    """The same from the other side: at night the names that take long."""
    night = pytest.mark.nightly
    return [pytest.param(case, id=name(case), marks=night if name(case) in dear else ()) for case in cases]


def make_seed_tests(check, few, many, chunk, chunk_at_night):
    """Two tests: ``check(seed)`` of every seed below ``few``, and of those from there to ``many``."""

    def run(seeds):
        for seed in seeds:
            check(seed)

    @pytest.mark.slow
    @pytest.mark.parametrize("seeds", chunks(0, few, chunk), ids=first_of)
    def first_seeds(seeds):
        run(seeds)

    @pytest.mark.nightly
    @pytest.mark.parametrize("seeds", chunks(few, many, chunk_at_night), ids=first_of)
    def other_seeds(seeds):
        run(seeds)

    return first_seeds, other_seeds


def chunks(start, stop, size):
    """The numbers from ``start`` to ``stop``, so many at a time."""
    return [range(k, min(k + size, stop)) for k in range(start, stop, size)]


def first_of(seeds):
    return str(seeds.start)
