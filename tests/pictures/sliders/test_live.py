"""Rows traced to JavaScript: what is written, what is refused. That it computes the same is in test_explore.py."""

import json
import math

import numpy as np
import pytest
from processes import in_node
from support import rows

import autoflow as af
from autoflow.pictures.sliders.explore import explore
from autoflow.pictures.sliders.live import TEMPLATES, Letter, as_javascript, literal, name_of, script, tape
from autoflow.table.table import RULES


def test_a_row_is_written_as_it_is_in_the_table():
    written = "[(x0,x1)=>(x0 / x1),(g,x0,x1,z)=>(g / x1),(g,x0,x1,z)=>((g * z) / (-x1))]"
    assert as_javascript(RULES[np.divide]) == written
    assert as_javascript(RULES[np.floor]) == "[(x0)=>Math.floor(x0),(g,x0,z)=>0]"


def test_long_expressions_become_constants_that_are_computed_once():
    _, _, sent = as_javascript(RULES[np.hypot]).split(",(g,")
    assert sent == (
        "x0,x1,z)=>{const t0=(x1 / ((z == 0) != 0 ? 1 : z));const t1=(g * ((z == 0) != 0 ? 0 : t0));"
        "const t2=(((z == 0) != 0 ? 0 : t0) == 0);const t3=((isNaN(t1) && t2) != 0 ? 0 : t1);return t3}]"
    )
    _, angle, _ = as_javascript(RULES[np.arctan2]).split(",(g,")
    assert angle.count("(x1 / t") == 1


def test_what_is_absent_is_known_and_options_come_with_the_operands():
    low = as_javascript(RULES[np.clip], (False, False, True))
    assert low.startswith("[(x0,x1,x2)=>clip(x0, x1, null),")
    assert low.endswith("()=>NaN]")  # nothing is sent to what is not there
    assert as_javascript(RULES[np.round]) == "[(x0,x1)=>roundTo(x0, x1),(g,x0,x1,z)=>0]"
    assert name_of(RULES[np.clip], (False, False, True)) == "clip without max"
    assert name_of(RULES[np.clip], (False, True, True)) == "clip without min max"


def test_values_in_javascript():
    written = {"null": None, "true": True, "false": np.False_, "(-2)": -2, "0.5": np.float64(0.5), "NaN": math.nan,
               "(-Infinity)": -math.inf, "3.0": np.array(3.0), "x0": Letter("x0", [])}  # fmt: skip
    assert {literal(x): x for x in written.values()} == written


@pytest.mark.parametrize("x", ["alert(1)", [1.0], np.ones(2), 1j, "1"], ids=repr)
def test_nothing_else_gets_into_a_page(x):
    with pytest.raises(TypeError, match="is not a number"):
        literal(x)


def test_rules_of_a_user_are_traced_too():
    """What asks for a number, or calls what JavaScript lacks, is for Python."""

    @af.primitive
    def versine(new):  # a word of JavaScript: arguments are called otherwise there
        return 1 - np.cos(new)

    versine.defvjp(new=lambda g, new: g * np.sin(new))
    written = "[(x0)=>(1 - Math.cos(x0)),(g,x0,z)=>(g * Math.sin(x0))]"
    assert as_javascript(versine(af.Variable(1.0)).grad_fn.rule) == written
    assert explore(lambda x: versine(x) * x, x=(0, 2, 1)).reason is None

    @af.primitive
    def power_of(scale, x, *, by):
        return scale * x**by

    power_of.defvjp(x=lambda g, scale, x, by: g * scale * by * x ** (by - 1))
    rule = power_of(3.0, af.Variable(2.0), by=2).grad_fn.rule
    x, scale, by = [f"x{rule.names.index(name)}" for name in ("x", "scale", "by")]
    assert as_javascript(rule).startswith(f"[(x0,x1,x2)=>({scale} * power({x}, {by})),")
    assert explore(power_of(3.0, af.Variable(2.0), by=2)).reason is None
    assert explore(power_of(3.0, af.Variable(2.0), by=[2.0])).reason.endswith("is or uses an array")

    scale = 0.1  # another value when the next page is made

    @af.primitive
    def leaky(x):
        return np.where((x > 0) == 1, x, scale * x)

    leaky.defvjp(x=lambda g, x: g * np.where(x > 0, 1.0, scale))
    for scale in (0.1, 0.5):
        data, found = tape(explore(leaky(af.Variable(-2.0, name="x")), x=(-2, 2)))
        known = f"{{{','.join([f'{json.dumps(name)}:{text}' for name, text in found.items()])}}}"
        there = "[-2, 2].map((x) => run(t, ROWS, { [t.inputs[0].node]: x }))"
        parts = f"t = {json.dumps(data)}, ROWS = {known}"
        seen = f"const RESULT = {there}.map((s) => [s.values[1], s.gradients[0]])"
        assert in_node(f"{script()}; const {parts}; {seen}") == [[-2 * scale, scale], [2, 1]]

    @af.primitive
    def size(x):
        return x if x > 0 else -x

    size.defvjp(x=lambda g, x: g * np.sign(x))
    assert explore(size(af.Variable(1.0, name="x"))).reason == "size has no JavaScript"

    @af.primitive
    def gamma(x):
        return np.asarray(math.gamma(x))

    gamma.defvjp(x=lambda g, z: g * z)
    assert "no JavaScript" in explore(gamma(af.Variable(2.0))).reason


def test_every_template_is_of_a_function_with_a_row_or_for_derivatives():
    own = {np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, np.logical_and, np.logical_or,
           np.logical_not, np.bitwise_and, np.bitwise_or, np.invert, np.isnan, np.isfinite, np.zeros_like,
           np.ones_like}  # fmt: skip
    assert set(TEMPLATES) - own <= set(RULES)
    assert {row.function for row in rows() if as_javascript(row)} >= {np.sinc, np.angle}


def test_two_rules_of_a_user_with_one_name():
    def made(factor):
        @af.primitive
        def scaled(x):
            return factor * x

        return scaled.defvjp(x=lambda g: g * factor) or scaled

    page = explore(lambda x: made(2.0)(x) + made(3.0)(x), x=(0, 2, 1))
    data, found = tape(page)
    assert page.reason is None
    assert {name: text[:16] for name, text in found.items() if name != "add"} == {
        "scaled": "[(x0)=>(2.0 * x0", "scaled'": "[(x0)=>(3.0 * x0",
    }  # fmt: skip
    assert [op for op, *_ in data["nodes"] if op] == ["scaled", "scaled'", "add"]
