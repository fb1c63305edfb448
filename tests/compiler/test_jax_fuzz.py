"""Random programs by XLA: what eager code gives, but for 1e-12 of the largest entry."""

import numpy as np
import pytest
from distances import any_program, check_hostile, check_program

pytestmark = pytest.mark.peers
pytest.importorskip("jax")


@pytest.mark.parametrize("seed", range(60))
def test_programs(seed):
    check_program(seed, any_program(seed), 1e-12, factor=4, engine="jax")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(60))
def test_hostile_programs(seed):
    with np.errstate(all="ignore"):
        check_hostile(seed, "jax")
