"""Elementwise arithmetic. No row mentions broadcasting: the table undoes it for all of them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .table import rule

Array = Any

# ruff: noqa: E501
# fmt: off
rule(np.add,      "x y", "+", r"$x + $y",         precedence=1, x=lambda g: g,        y=lambda g: g)
rule(np.subtract, "x y", "−", r"$x - $y",         precedence=1, x=lambda g: g,        y=lambda g: -g)
rule(np.multiply, "x y", "×", r"$x \odot $y",     precedence=2, x=lambda g, y: g * y, y=lambda g, x: g * x)
rule(np.divide,   "x y", "÷", r"\frac{$x}{$y}",   x=lambda g, y: g / y, y=lambda g, y, z: -g * z / y, domain=(0.5, 2.0))
rule(np.positive, "x",   "+", r"$x",              x=lambda g: g)
rule(np.negative, "x",   "−", r"-$x",             precedence=3, x=lambda g: -g)
rule(np.square,   "x",   "²", r"$x^2",            precedence=4, x=lambda g, x: g * (2 * x))
rule(np.reciprocal, "x", "1/", r"\frac{1}{$x}",   x=lambda g, z: -g * (z * z), domain=(0.5, 2.0))
rule(np.power,    "x y", "^", r"$x^{$y}",         precedence=4, operator=operator.pow, domain=(0.5, 2.0),  # the operator knows squares
     x=lambda g, x, y: g * slope_of_power(x, y), y=lambda g, x, y, z: g * slope_in_exponent(x, y, z))
rule(np.float_power, "x y", "^", r"$x^{$y}",      precedence=4, domain=(0.5, 2.0),
     x=lambda g, x, y: g * slope_of_power(x, y), y=lambda g, x, y, z: g * slope_in_exponent(x, y, z))
rule(np.floor_divide, "x y", "//", r"\lfloor $x / $y \rfloor", x=lambda g: np.zeros_like(g), y=lambda g: np.zeros_like(g), domain=(0.6, 0.9))
rule(np.remainder, "x y", "%", r"$x \bmod $y",    x=lambda g: g, y=lambda g, x, y: -g * np.floor_divide(x, y), domain=(0.6, 0.9))
rule(np.fmod,     "x y", "fmod", r"\operatorname{fmod}($x, $y)", x=lambda g: g, y=lambda g, x, y: -g * np.trunc(x / y), domain=(0.6, 0.9))
# fmt: on


def slope_of_power(x: Array, y: Array) -> Array:
    """d(xʸ)/dx = y xʸ⁻¹; at x = 0 what calculus says (0, 1 or n), and 0 for the exponent 0: no NaN."""
    if type(y) in (int, float):
        return 2 * x if y == 2 else y * x ** (y - 1) if y else 0 * x
    return y * x ** np.where(y == 0, 1, y - 1)


def slope_in_exponent(x: Array, y: Array, z: Array) -> Array:
    """d(xʸ)/dy = xʸ log x; at x = 0 it is 0 for y > 0."""
    at_zero = (x == 0) & (y > 0) if not np.iscomplexobj(y) else x == 0
    return z * np.log(np.where(at_zero, 1, x))



rule(np.absolute, "x", "abs", r"\left|$x\right|", x=lambda g, x: g * np.sign(x))
rule(np.exp, "x", "exp", r"e^{$x}", x=lambda g, z: g * z)
rule(np.log, "x", "log", r"\log $x", x=lambda g, x: g / x, domain=(0.5, 2.0))
rule(np.tanh, "x", "tanh", r"\tanh $x", x=lambda g, z: g * (1 - z * z))
