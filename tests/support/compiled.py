"""Compiled functions beside eager code."""

import copy
import json
import math
import operator
import pickle
import re
import sys

import numpy as np
from support import values_of

import autoflow as af
from autoflow.base import pytree


def between_bars(text):
    """The expressions of a text that has several on a line, with bars between them."""
    return re.split(r" \| | *\n *", text.strip())


def check_same(ours, expected, rtol=0.0, atol=0.0, message="", strict=True, strides=False):
    """The arrays of two results are equal, in dtype and shape as well; with a bound their numbers differ by less.
    strides : also that they lie in memory alike."""
    for a, b in zip(*map(pytree.tree_leaves, (ours, expected)), strict=True):
        b = np.asarray(getattr(b, "value", b))
        if rtol or atol:
            np.testing.assert_allclose(a, b, rtol, atol, err_msg=message, strict=strict)
        else:
            np.testing.assert_array_equal(a, b, message, strict=strict)
        assert not strides or a.strides == b.strides, message


def check_calls(f, *calls, rtol=0.0, atol=0.0, **options):
    """``f`` compiled gives what it gives, twice for each tuple of arguments; the compiled function."""
    compiled = af.compile(f, **options)
    for args in calls:
        for _ in range(2):
            check_same(compiled(*args), f(*args), rtol, atol)
    return compiled


def check_near(compiled, f, args, bound=1e-13, signs=True):
    """Two calls give new arrays as eager code does, but for this part of the largest number; so do signs of zeros."""
    with np.errstate(all="ignore"):
        for _ in range(2):
            for a, b in zip(*map(pytree.tree_leaves, (f(*args), compiled(*args))), strict=True):
                a = np.asarray(getattr(a, "value", a))
                assert type(b) is np.ndarray
                scale = np.max(np.abs(a), initial=0, where=np.isfinite(a)) if a.dtype.kind in "fc" else 0
                np.testing.assert_allclose(b, a, rtol=0, atol=bound * scale, strict=True)
                zeros = (a == 0) & signs & (a.dtype.kind == "f")
                np.testing.assert_array_equal(np.signbit(a[zeros].real), np.signbit(b[zeros].real))


def value_and_slopes(row, example):
    """The function that gives Σ sin(k) zₖ of a row's result z, and its gradients; and the arguments of the example."""
    values = values_of(row, example)
    places = tuple([k for k, v in enumerate(values) if v is not None and v.dtype.kind in "fc"])

    def f(*operands):
        if row.name == "interp":  # its points, which come first, must be in order
            operands = np.arange(np.size(operands[0])) + 0.1 * np.tanh(operands[0]), *operands[1:]
        return weighted_sum(row.function(*([list(operands)] if row.variadic else operands), **example.options))

    return af.value_and_grad(f, places, allow_unused=True), values


def weighted_sum(z):
    """Σ sin(k) zₖ: a number to which each element contributes."""
    return (np.real(z) * np.sin(np.arange(1.0, np.size(z) + 1)).reshape(np.shape(z))).sum()


MODULES = {"copy": copy, "json": json, "math": math, "operator": operator, "pickle": pickle, "sys": sys}


def functions(text, arguments, scope, are_named=False):
    """The functions of the expressions in a text, in the scope of a module: by their text, or as ``name: expression``
    by these names."""
    found = [each.split(": ", 1) if are_named else (each, each) for each in between_bars(text)]
    code = {name: compile(f"lambda {arguments}: {each}", scope["__file__"], "eval") for name, each in found}
    return {name: eval(each, MODULES | scope) for name, each in code.items()}
