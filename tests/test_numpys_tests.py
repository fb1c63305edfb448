"""NumPy's own tests pass with nodes in the place of arrays, but for those in a list, which may only get shorter.

See :mod:`numpys_tests`. A line of ``golden/numpys_tests.txt`` says how many cases of a test deviate at most, and why.
"""

import collections
import doctest
import importlib.util
from pathlib import Path

import numpys_tests
import pytest

LIST = Path(__file__).parent / "golden" / "numpys_tests.txt"
MOST = 250
if importlib.util.find_spec("numpy.linalg.tests") is None:
    pytest.skip("NumPy is installed without its tests", allow_module_level=True)


def listed():
    """Test -> how many of its cases deviate, and why."""
    rows = [line.split(None, 2) for line in LIST.read_text().splitlines()]
    return {test: (int(count), reason.removeprefix("| ")) for count, test, reason in rows}


def check(found, rooms):
    counts = collections.Counter(name.partition("[")[0] for name in found)
    known = {test: count for test, (count, _) in listed().items() if test.startswith(tuple(rooms))}
    more = {name: why for name, why in found.items() if counts[test := name.partition("[")[0]] > known.get(test, 0)}
    assert more == {}, "deviations that are not in the list"
    fewer = {test: counts[test] for test, count in known.items() if counts[test] < count}
    assert fewer == {}, f"fewer deviate now: shorten {LIST.name}"


def test_every_deviation_has_its_reason():
    assert all(reason for _, reason in listed().values())
    assert sum(count for count, _ in listed().values()) <= MOST


def test_the_names_of_a_module():
    assert doctest.testmod(numpys_tests).failed == 0


@pytest.mark.slow
def test_some_of_numpys_tests(tmp_path):
    rooms = ["lib/tests/test_shape_base.py", "lib/tests/test_twodim_base.py"]
    found = numpys_tests.deviations(rooms, tmp_path)
    check(found, rooms)
    assert found


@pytest.mark.nightly
@pytest.mark.parametrize("rooms", [["_core/tests"], [f"{room}/tests" for room in numpys_tests.ROOMS[1:]]], ids=len)
def test_all_of_numpys_tests(rooms, tmp_path):
    check(numpys_tests.deviations(rooms, tmp_path), rooms)
