"""af.data_parallel and pickling on engines that others have made: loky, Dask, MPI, Zarr (extra `engines`).

Everywhere the digest is that of the serial run; but with a communicator, which agrees to 1e-13. What takes seconds runs
by night.
"""

import functools
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import workers
from workers import digest, network_loss, problem, step_digest

import autoflow as af
from autoflow.errors import DataError, InputError

P, BATCH = problem()
SUPPORT = str(Path(workers.__file__).parent)
pytestmark = [
    pytest.mark.engines, pytest.mark.filterwarnings("ignore::DeprecationWarning:(distributed|dask|tornado|loky|zarr)"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Dask, files of loky's tracker
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]  # fmt: skip


@pytest.fixture(scope="module")
def serial():
    return step_digest(None, P, BATCH)


@pytest.fixture(scope="module", autouse=True)
def _found_by_workers():
    """Worker processes import the module of the functions, and this checkout."""
    before = os.environ.get("PYTHONPATH")
    root = str(Path(af.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([SUPPORT, root, *([before] if before else [])])
    yield
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


# -- data --------------------------------------------------------------------------------------------------------------


def test_zarr(serial, tmp_path):
    zarr = pytest.importorskip("zarr")
    files = {}
    for name, x in BATCH.items():
        files[name] = zarr.create_array(str(tmp_path / name), shape=x.shape, chunks=(50, x.shape[1]), dtype=x.dtype)
        files[name][:] = x
    assert step_digest(None, P, files) == serial


def test_blocks_of_dask_arrays_one_after_the_other():
    array = pytest.importorskip("dask.array")
    blocks = {name: array.from_array(x, chunks=(29, -1)) for name, x in BATCH.items()}
    one = step_digest(None, P, blocks)
    assert one == step_digest(map, P, blocks, chunks=3)  # the array has chunks of its own
    total = af.data_parallel(network_loss, over=1)
    expected = af.value_and_grad(network_loss)(P, BATCH)
    for a, b in zip(
        af.pytree.tree_leaves(af.value_and_grad(total)(P, blocks)), af.pytree.tree_leaves(expected), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-14)


def test_dask_arrays_that_cannot_be_cut():
    array = pytest.importorskip("dask.array")
    x, y = (array.from_array(BATCH[name], chunks=(50, 2)) for name in ("x", "y"))
    total = af.data_parallel(workers.squares, over=(1, 2))
    with pytest.raises(InputError, match=r"a part must hold whole examples: x\.rechunk\(\{1: -1\}\)"):
        total(np.ones(5), x, y[:, 0])
    x = x.rechunk({0: 40, 1: -1})
    with pytest.raises(InputError, match=r"end at different rows: x\.rechunk\(\{0: y\.chunks\[0\]\}\)"):
        total(np.ones(5), x, y[:, 0])
    with pytest.raises(InputError, match=r"chunk sizes are not known: x\.compute_chunk_sizes\(\)"):
        af.data_parallel(workers.waits, over=1)(1.0, x[x[:, 0] > 0])


def test_dask_arrays_are_no_nodes():
    """They are data of af.data_parallel; as nodes they are refused, by name."""
    array = pytest.importorskip("dask.array")
    with pytest.raises(DataError, match=r"dask\.array.* so there can be no nodes of it.*af\.data_parallel"):
        af.backends.register(array.Array, from_numpy=array.from_array, to_numpy=np.asarray)
    assert array.Array not in af.backends.NODE_TYPES


# -- loky --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def loky():
    loky = pytest.importorskip("loky")
    pool = loky.ProcessPoolExecutor(max_workers=2)
    yield pool
    pool.shutdown(wait=True, kill_workers=True)


@pytest.mark.slow
def test_loky(loky, serial):
    assert step_digest(loky, P, BATCH, together=4) == serial
    compiled = step_digest(None, P, BATCH, compiled=True)
    assert step_digest(loky, P, BATCH, together=4, compiled=True) == compiled


@pytest.mark.slow
def test_loky_takes_functions_by_value(loky):
    c = 3.0
    total = af.data_parallel(lambda w, x: np.mean(c * w * x), over=1, chunks=3, workers=loky)
    assert float(af.grad(total)(1.0, np.ones(6))) == pytest.approx(c, rel=1e-15)
    assert [float(g) for g in loky.map(af.grad(lambda x: c * x**2), [1.0, 2.0])] == [6.0, 12.0]


@pytest.mark.nightly
def test_loky_after_a_death():
    loky = pytest.importorskip("loky")
    x = np.ones(8)
    x[5] = -1.0
    with loky.ProcessPoolExecutor(max_workers=1) as pool:
        total = af.data_parallel(workers.dies_in_the_middle, over=1, workers=pool, chunks=4)
        with pytest.raises(Exception, match=r"terminated|unexpectedly|abruptly") as found:
            total(1.0, x)
    assert any("make a new one" in note for note in found.value.__notes__)


# -- Dask --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50,
            local_directory=None,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        yield client


@pytest.mark.nightly
def test_dask(client, serial):
    assert step_digest(client, P, BATCH) == serial
    assert step_digest(client, P, BATCH, together=4) == serial
    assert step_digest(client.get_executor(), P, BATCH, together=4) == serial


@pytest.mark.nightly
def test_dask_takes_the_blocks_where_they_lie(client):
    array = pytest.importorskip("dask.array")
    blocks = {name: array.from_array(x, chunks=(29, -1)) for name, x in BATCH.items()}
    one = step_digest(None, P, blocks)
    lying = dict(zip(blocks, client.persist(list(blocks.values())), strict=True))
    assert step_digest(client, P, lying) == step_digest(client, P, lying, together=2) == one
    mixed = {"x": lying["x"], "y": BATCH["y"]}
    assert step_digest(client, P, mixed) == one


@pytest.mark.nightly
def test_dask_compiles_in_its_workers_beside_its_own_threads(client):
    """Fifty first calls, each with a program of its own: none is refused for what Dask's threads draw."""
    for k in range(25):
        total = af.data_parallel(
            functools.partial(network_loss, scale=float(k)), over=1, workers=client, chunks=2, compiled=True
        )
        assert np.isfinite(total(P, BATCH))


@pytest.mark.nightly
def test_dask_second_derivatives(client):
    def product(workers_):
        total = af.data_parallel(network_loss, over=1, workers=workers_, chunks=4)
        return af.hvp(lambda p: total(p, BATCH), P, P)

    assert digest(product(client)) == digest(product(None))


@pytest.mark.nightly
@pytest.mark.parametrize("f", [workers.dies_once, workers.fails_once])
def test_dask_replaces_what_fails(client, tmp_path, f):
    """A worker is killed in the middle of a step, or a part fails once; the step ends, with the same bits."""
    x = np.linspace(-1.0, 1.0, 40)
    with af.options(prove="never"):  # for a proof the step takes too long where Dask starts another worker slowly
        there = af.value_and_grad(af.data_parallel(f, over=1, workers=client, chunks=8))(
            2.0, x, str(tmp_path / "first")
        )
    here = af.value_and_grad(af.data_parallel(f, over=1, chunks=8))(2.0, x, str(tmp_path / "first"))
    assert digest(there) == digest(here)


@pytest.mark.nightly
def test_an_error_in_a_dask_worker_says_which_part(client):
    x = np.ones(12)
    x[7] = -1.0
    total = af.data_parallel(workers.fails_in_the_middle, over=1, workers=client, chunks=4)
    with pytest.raises(ZeroDivisionError, match="a bad row") as found:
        total(1.0, x)
    assert "in part 3 of 4, rows 6:9" in found.value.__notes__


# -- MPI ---------------------------------------------------------------------------------------------------------------


def mpiexec(code, n):
    """What rank 0 prints."""
    pytest.importorskip("mpi4py")
    program = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if program is None:
        pytest.skip("mpiexec is not installed")
    environment = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    oversubscribe = ["--oversubscribe"] if "Open" in subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=False).stdout else []  # fmt: skip
    done = subprocess.run(
        [program, *oversubscribe, "-n", str(n), sys.executable, "-m", "mpi4py", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=240, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.nightly
def test_mpi_futures(serial):
    found = mpiexec(
        """
        from mpi4py.futures import MPICommExecutor
        from workers import problem, step_digest
        with MPICommExecutor() as pool:
            if pool is not None:
                print(step_digest(pool, *problem(), together=4))
        """,
        3,
    )
    assert found == [serial]


@pytest.mark.nightly
def test_mpi_communicator():
    found = mpiexec(
        """
        import numpy as np, autoflow as af
        from mpi4py import MPI
        from workers import digest, network_loss, problem
        comm = MPI.COMM_WORLD
        p, batch = problem()
        mine = {name: np.array_split(x, [40, 90])[comm.rank] for name, x in batch.items()}
        total = af.data_parallel(network_loss, over=1, workers=comm, chunks=4)
        value, g = af.value_and_grad(total)(p, mine)
        h = af.hvp(lambda p: total(p, mine), p, p)
        one, slope = af.value_and_grad(network_loss)(p, batch)
        second = af.hvp(lambda p: network_loss(p, batch), p, p)
        apart = max(abs(value - one), *[np.max(np.abs(g[k] - slope[k])) for k in p],
                    *[np.max(np.abs(h[k] - second[k])) for k in p])
        digests = comm.allgather(digest((value, g, h)))
        if comm.rank == 0:
            print(len(set(digests)), apart)
        """,
        3,
    )
    assert found[0] == "1"
    assert float(found[1]) < 1e-13


@pytest.mark.nightly
def test_mpi_ranks_that_differ_or_fail():
    found = mpiexec(
        """
        import numpy as np, autoflow as af, workers
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        said = []
        for w, x in ((1.0 + comm.rank, np.ones(4)), (1.0, np.ones(4) - 2.0 * comm.rank)):
            try:
                af.data_parallel(workers.fails_in_the_middle, over=1, workers=comm, chunks=2)(w, x)
            except Exception as error:
                said.append(type(error).__name__)
        every = comm.allgather(said)
        if comm.rank == 0:
            print(*every[0], *every[1])
        """,
        2,
    )
    assert found == ["InputError", "RuntimeError", "InputError", "ZeroDivisionError"]
