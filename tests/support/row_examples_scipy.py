"""The calls of the rows that need SciPy, for the generated tests: see :mod:`examples`."""

from __future__ import annotations

from typing import Any

import numpy as np
from row_examples_matrices import dominant
from scipy import special

from autoflow.linalg import banded, cholesky, factor_solve, general, packed_lu, triangular
from autoflow.rules.bessel import airy_part, pbdv, pbvv, pbwa
from autoflow.rules.distributions import (
    log_betainc,
    log_gammainc,
    log_half_step,
    log_powers,
    log_stdtr,
    skew_normal,
    times_powers,
)
from autoflow.rules.matrix_functions import expm, logm, power, sqrtm, sylvester
from autoflow.rules.special import jacobi, lambertw
from autoflow.scipy.bodies import steps
from autoflow.scipy.fft import orthogonal
from autoflow.scipy.sparse import product
from autoflow.scipy.sparse.linalg import sparse_solve
from autoflow.signal import convolution, recursive
from autoflow.special import sum_of_exponentials
from autoflow.table.parameters import zeta
from autoflow.table.table import Example, of


def at(**options: Any) -> tuple[Example, ...]:
    """Vectors, a number, a column, each with these options."""
    return of((3,), **options), of((), **options), of((2, 1), **options)


def special_functions(names: str, examples: tuple[Example, ...]) -> dict[Any, tuple[Example, ...]]:
    """Functions of ``scipy.special``, all with the same examples."""
    return {getattr(special, name): examples for name in names.split()}


# fmt: off
ORDERS = (of((3,), v=1.5), of((2, 3), v=0.0), of((), v=2.0))
WHOLE_ORDERS = (of((3,), n=2), of((), n=0))
DEGREES = (of((3,), n=3), of((), n=0), of((2,), n=1.5))
WHOLE_DEGREES = (of((3,), n=3), of((), n=0), of((2,), n=1))
ROWS, COLUMNS = np.array([0, 2, 1, 2]), np.array([1, 0, 2, 2])
TWO = (of((2, 1), (3,)), of((), ()))  # each time all of them, and broadcasting
THREE = (of((2, 1), (), (3,)), of((), (), ()))

EXAMPLES: dict[Any, tuple[Example, ...]] = {
    **special_functions("jv yv iv kv ive kve jve yve hankel1 hankel2 hankel1e hankel2e struve modstruve", ORDERS),
    **special_functions("yn kn spherical_jn spherical_yn spherical_in spherical_kn", WHOLE_ORDERS),
    **special_functions("hyp1f1 hyperu wright_bessel log_wright_bessel", at(a=0.5, b=1.5)),
    **special_functions(
        "eval_legendre eval_chebyt eval_chebyu eval_chebyc eval_chebys eval_sh_legendre eval_sh_chebyt "
        "eval_sh_chebyu eval_laguerre", DEGREES),
    **special_functions("eval_hermite eval_hermitenorm", WHOLE_DEGREES),
    **special_functions("gammainc gammaincc gammaincinv gammainccinv chdtr chdtrc chdtri stdtr", TWO),
    **special_functions("betainc betaincc betaincinv betainccinv fdtr fdtrc gdtr gdtrc gdtrix", THREE),
    **dict.fromkeys((skew_normal, log_stdtr), TWO),
    **special_functions("pdtr pdtrc", at(k=2.0)),
    steps: (of((3,), (2, 1), of=lambda x, y: np.floor(x) + np.floor(y)),),
    # special
    zeta: at(s=2.0),
    special.radian: (of((3,), (3,), (3,)), of((), (2,), ())),
    lambertw: (of((3,)), of((), k=-1), of((2,), k=1)),
    # bessel
    airy_part: tuple([of((3,), k=k) for k in range(4)]),
    **dict.fromkeys((pbdv, pbvv, pbwa), (of((3,), v=1.0, k=0), of((3,), v=1.0, k=1))),
    # elliptic
    special.hyp0f1: at(v=1.5),
    special.hyp2f1: at(a=0.5, b=1.5, c=2.5),
    special.expn: (of((3,), n=3), of((), n=1), of((2,), n=0)),
    jacobi: (*[of((3,), (3,), k=k) for k in range(4)], of((2, 1), (3,), k=0)),
    # orthogonal
    special.eval_gegenbauer: (of((3,), n=3, alpha=0.7), of((), n=0, alpha=1.5)),
    special.eval_jacobi: (of((3,), n=3, a=0.5, b=1.5), of((), n=0, a=0.5, b=1.5)),
    special.eval_sh_jacobi: (of((3,), n=3, p=2.5, q=1.5), of((), n=0, p=2.5, q=1.5)),
    special.eval_genlaguerre: (of((3,), n=3, alpha=0.5), of((), n=0, alpha=0.5)),
    # distributions
    special.fdtri: at(m=3.0, n=5.0),
    special.stdtrit: (of((3,), (2, 1), prepare=lambda n: n + 2), of((), (), prepare=lambda n: n + 2)),
    **dict.fromkeys((special.bdtr, special.bdtrc), (of((3,), k=2.0, n=5), of((), k=1.0, n=4))),
    **dict.fromkeys((special.nbdtr, special.nbdtrc), (of((3,), k=2, n=5), of((), k=1, n=4))),
    special.voigt_profile: (of((3,), (3,), (3,)), of((), (2,), ())),
    special.tklmbda: at(lam=0.5),
    **dict.fromkeys((log_powers, times_powers), (of((3,), (3,), (3,), (3,), (3,)), of((), (2, 1), (), (3,), ()))),
    log_half_step: (of((3,)),),
    log_gammainc: (of((3,), (3,)), of((2, 1), (3,), upper=True), of((), (), upper=True)),
    log_betainc: (of((3,), (3,), (3,)), of((2, 1), (), (3,), upper=True), of((), (), (), upper=True)),
    # matrix_functions
    expm: (of((3, 3)), of((2, 2, 2)), of((1, 1))),
    **dict.fromkeys((sqrtm, logm), (of((3, 3), prepare=dominant), of((2, 2, 2), prepare=dominant))),
    power: (of((3, 3), (), prepare=dominant), of((2, 2, 2), (), prepare=dominant)),
    sylvester: (of((3, 3), (2, 2), (3, 2), prepare=dominant), of((2, 3, 3), (2, 2, 2), (2, 3, 2), prepare=dominant)),
    # linalg
    general: (of((3, 3), (3,), prepare=dominant), of((2, 2, 2), (2, 2, 3), prepare=dominant, assume_a="gen")),
    triangular: (of((3, 3), (3,), prepare=dominant), of((3, 3), (3, 2), prepare=dominant, lower=True),
        of((3, 3), (3, 2), prepare=dominant, trans=1),
        of((2, 2), (2, 2), prepare=dominant, trans=1, lower=True, unit_diagonal=True),
        of((2, 2, 2), (2, 2, 3), prepare=dominant)),
    cholesky.__wrapped__: (of((3, 3), prepare=dominant), of((2, 2), prepare=dominant, lower=True)),
    banded: (of((3, 4), (4,), prepare=lambda x: x + np.array([[0.0], [4.0], [0.0]], x.dtype), below=1, above=1),
        of((3, 4), (4, 2), prepare=lambda x: x + np.array([[4.0], [0.0], [0.0]], x.dtype), below=2, above=0)),
    packed_lu: (of((3, 3), prepare=dominant), of((1, 1), prepare=dominant)),
    factor_solve: (of((3, 3), (3,)), of((3, 3), (3, 2), lower=True)),
    # fft
    orthogonal: tuple([of((4,), name=name, type=k) for name in ("dct", "dst") for k in (1, 2, 3, 4)]
        + [of((3, 2), type=2, axis=0)]),
    # sparse
    product: (of((4,), (3,), rows=ROWS, columns=COLUMNS, m=3), of((4,), (3, 2), rows=ROWS, columns=COLUMNS, m=4)),
    sparse_solve: (of((4,), (3,), rows=np.array([0, 1, 2, 2]), columns=np.array([0, 1, 2, 0])),
        of((4,), (3, 2), rows=np.array([0, 1, 2, 2]), columns=np.array([0, 1, 2, 0]))),
    # signal
    recursive: (of((5,), (2,), (3,)), of((2, 4), (3,), (2,)), of((4, 2), (1,), (2,), axis=0)),
    convolution: (of((4,), (2,)), of((2, 3), (3, 2)), of((3, 4), (2, 2), mode="same"),
        of((3, 4), (2, 3), mode="valid", method="direct"), of((2, 2), (3, 4), mode="valid"),
        of((2, 3), (3, 3), mode="same", method="direct")),
    # special
    sum_of_exponentials: (of((3,), None), of((2, 3), None, axis=1), of((2, 3), (3,), axis=0),
        of((2, 3), (2, 1), axis=(0, 1), keepdims=True)),
}
# fmt: on
