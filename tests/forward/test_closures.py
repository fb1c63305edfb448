"""The quick closures are written out, because a call would cost: what they say twice they say alike."""

import ast
import inspect
import re
import textwrap

from autoflow.forward import closures, recording


def statements_of(function):
    return list(ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))))


def filling(function):
    """How a new record is filled, but for what is its own: its operands, and what it keeps."""
    texts = [ast.unparse(node) for node in statements_of(function) if isinstance(node, (ast.Assign, ast.If))]
    texts = [
        text for text in texts if re.match(r"record\.|if switches\.source|if release is not None:\n +record", text)
    ]
    return sorted([re.sub(r"record\.(parents|saved|extra) = .*", r"record.\1", text) for text in texts])


def test_records_are_filled_alike():
    assert filling(closures.unary) == filling(closures.binary) == filling(recording.compute_one)
    assert {f"record.{slot}" for slot in ("parents", "saved", "extra")} < {*filling(closures.unary)}


def test_both_operands_are_read_alike():
    ladders = [ast.unparse(node) for node in statements_of(closures.binary) if isinstance(node, ast.If)]
    (first,) = [text for text in ladders if text.startswith("if type(x) is Operation")]
    (second,) = [text for text in ladders if text.startswith("if type(y) is Operation")]
    for here, there in {"y": "x", "b": "a", "q": "p", "plain = 1": "plain = 0", "rule, x, x,": "rule, x, y,"}.items():
        second = re.sub(rf"\b{here}(?!\w)", there, second)
    assert first == second
