"""Write ``docs/numpy-coverage.md``: what every NumPy function does with a node.

    python docs/make_coverage.py           writes the file
    python docs/make_coverage.py --check   says whether it is up to date (the tests call it)

Everything is read from the table of rules and from the lists of ``autoflow/table/outside.py``, and counted by
``docs/probes.py``, so nothing here is written by hand, except for what the peers do: that was read from their sources,
and counted with the same probes (``docs/peers.json``).
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import probes
import scipy.special

import autoflow as af
from autoflow.batching.vmap import forms
from autoflow.compiler.jax import lowering
from autoflow.compiler.jax.table import counterpart
from autoflow.compiler.llvm import words
from autoflow.compiler.text import calls, javascript
from autoflow.rules import special
from autoflow.rules.variants import METHODS
from autoflow.table import facts, outside
from autoflow.table.shapes import UNTIL
from autoflow.table.table import COMPOSED, RULES

HERE = Path(__file__).parent
PAGE = HERE / "numpy-coverage.md"
SPACES: dict[str, ModuleType] = {
    "np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.emath": np.emath,
    "np.lib.stride_tricks": np.lib.stride_tricks, "np.lib.array_utils": np.lib.array_utils,
}  # fmt: skip
PEERS = {"mygrad": "MyGrad", "autograd": "autograd", "jax_numpy_notable": "JAX"}
SEEN = {"derivative", "composed", "plain", "written into"}  # NumPy asks arrays of vmap and compile, too
TWINS = {"linalg": af.linalg, "special": af.special, "stats": af.stats, "signal": af.signal, "integrate": af.integrate}

HEAD = """# What NumPy functions do with a node

Made by `python docs/make_coverage.py` from the table of rules; do not edit.

* **derivative**: the function has a row in the table: value, derivative, second derivative.
* **composed**: written with functions that have rows; gradients flow through it.
* **written into**: the first argument is written into, which is recorded (arrays of `af.zeros`, results of
  operations).
* **new array**: a Constant that remembers what is written into it.
* **plain**: places, counts, booleans. The derivative is zero or does not exist; the result is a plain array.
* **refused**: `NoRuleError`, with what to do instead.
* **unseen**: NumPy does not ask the node, so it takes the numbers, and the gradient ends there. The same holds of a
  list of nodes where an array is expected (`np.sum([x, y])`), and of a few arguments if the arrays are plain:
  `initial=` of reductions, `constant_values=` and `end_values=` of `pad`, `default=` of `select`, `left=`,
  `right=` and `period=` of `interp`, `period=` of `unwrap`, the values of `fill_diagonal` and of `piecewise`. Together
  with nodes each of them is honoured or refused.

Under **vmap** a function is computed for all examples at once by its *kind* (elementwise, along axes, of stacks of
matrices: `autoflow/table/facts.py`), by a form of its own (*form*), or as it is *composed*, unless that asks for
values; the others are called for *each* example. Under **compile** the shape of a result is *known* from those of the
arguments, or else compared with the recording in each run. Both hold of usual arguments: what else comes is called for
each example, and compared. Whatever the engines of compile do not have stays a call of NumPy: **llvm** has *loops* of
its own, **jax** the function of the same *name* if JAX has it, or one of another convention by a *form*.
**javascript** says what a program can be written with: a *formula* of numbers, a *move* of elements, a *loop*.
What NumPy has in Python (`np.linalg.norm`, `np.nansum`, `np.tensordot`) is written as that code, where that goes.

The last columns say which peers differentiate the function (MyGrad 2.5, HIPS autograd 1.9, jax.numpy 0.10).
"""

SCIPY = """
## SciPy

The special functions of SciPy are ufuncs, so NumPy asks nodes about them: `scipy.special.erf(x)` is recorded as
`np.exp(x)` is. Most other functions of SciPy take the numbers of a node without asking; `af.linalg`, `af.special`,
`af.stats`, `af.signal` and `af.integrate` have some of them for nodes, under the same names. Orders (of
Bessel functions) and counts (of the binomial distribution) have no derivative, and nodes there are refused by name.

| function | autoflow | | autograd |
|---|---|---|---|
"""


def status(function: Any) -> tuple[str, str]:
    """What becomes of a call with a node, and a remark."""
    if function in RULES:
        return "derivative", "of " + ", ".join(f"`{name}`" for name in RULES[function].derivatives)
    if function in COMPOSED:
        return "composed", ""
    for title, members in (
        ("written into", outside.WRITERS), ("new array", outside.ALLOCATORS), ("plain", outside.PLAIN),
        ("unseen", outside.BYPASS_DISPATCH),
    ):  # fmt: skip
        if function in members:
            return title, ""
    if function in outside.REFUSED:
        return "refused", outside.REFUSED[function]
    return "", ""


def ways(function: Any) -> str:
    """How ``af.vmap`` and ``af.compile`` take it, for two columns."""
    is_ufunc = isinstance(function, np.ufunc)
    elementwise = function.signature is None if is_ufunc else function in RULES and RULES[function].elementwise
    if elementwise or function in facts.of_kind("reduces", "runs", "matrices", "elements", "likes"):
        batched = "kind"
    elif function in forms.FORMS or function in facts.of_kind("asks"):
        batched = "form"
    else:
        batched = "composed" if function in COMPOSED else "each"
    views = facts.of_kind("shapes", "permutes", "shows", "asks", "likes")
    return f"{batched} | {'known' if is_ufunc or function in facts.FIXED or function in views else ''}"


def engines(function: Any) -> str:
    """What the engines of ``af.compile`` have for it, for three columns."""
    summed = facts.REDUCTIONS.get(function)
    loops = function in words.ROWS or summed in words.REDUCED or function is np.matmul
    is_form = function in lowering.FORMS or function in lowering.OF_DTYPES
    by_name = "" if counterpart(function).startswith("left to NumPy") else "name"
    folded = summed in javascript.FORMULAS and (summed in javascript.EXTREMES or summed.identity is not None)
    text = (
        "loop" if function in calls.CALLS or function in calls.FORMS or folded
        else "move" if function in javascript.MOVES
        else "formula" if function in javascript.FORMULAS
        else ""
    )  # fmt: skip
    return f"{'loop' if loops else ''} | {'form' if is_form else by_name} | {text}"


def functions(space: ModuleType) -> dict[str, Any]:
    """Public functions of a namespace, by name."""
    there = {name: thing for name, thing in vars(space).items() if not name.startswith("_")}
    no_functions = type, ModuleType
    return {n: f for n, f in sorted(there.items()) if callable(f) and not isinstance(f, no_functions) and n != "test"}


def rows() -> list[tuple[str, str, str]]:
    """(name, status, remark) of every function and of every method of a ufunc that is recorded. What some versions
    of NumPy do not have is recorded too, so that the page does not depend on the one that is installed."""
    found = [(name, kind, f"until NumPy {last}") for name, (last, kind) in UNTIL.items()]
    for short, space in SPACES.items():
        for name, function in functions(space).items():
            if name in UNTIL:
                continue
            found.append((f"{short}.{name}".removeprefix("np."), *status(function)))
    for method, ufuncs in METHODS.items():
        found += [(f"{ufunc.__name__}.{method}", "composed", "") for ufunc in ufuncs]
    found += [("add.at", "written into", ""), ("r_", "composed", ""), ("c_", "composed", "")]
    return sorted(found)


def peers() -> dict[str, set[str]]:
    """Which functions the peers differentiate."""
    data = json.loads((HERE / "peers.json").read_text(encoding="utf-8"))
    return {title: set(data[key]) for key, title in PEERS.items()}


def scipy_rows() -> list[tuple[str, str, str]]:
    """(name, status, remark) of SciPy's functions that have a row, a twin, or a reason to have neither."""
    found = {}
    for name in sorted(set(scipy.special.__all__)):
        function = getattr(scipy.special, name)
        if function in RULES or function in COMPOSED:
            ours = COMPOSED.get(function)
            inner = ours.args[0] if isinstance(ours, functools.partial) else function  # a row with its arguments turned
            found[f"special.{name}"] = status(inner)
    for name, why in special.WITHOUT.items():
        found[f"special.{name}"] = "refused", why
    for name in ("jn", "lambertw", "zeta"):  # another name, and functions around a ufunc
        found[f"special.{name}"] = "derivative", "of `x`"
    for space, module in TWINS.items():
        for name in module.__all__:
            thing = getattr(module, name)
            methods = [m for m in dir(thing) if not m.startswith("_")] if space == "stats" else [""]
            for method in methods:
                found[f"{space}.{name}.{method}".rstrip(".")] = "twin", f"`af.{space}.{name}`"
    return [(name, *found[name]) for name in sorted(found)]


def scipy_section() -> list[str]:
    """The lines of the table of SciPy's functions."""
    theirs = set(json.loads((HERE / "peers.json").read_text(encoding="utf-8"))["autograd_scipy"])
    return [
        f"| `scipy.{name}` | {kind} | {remark} | {'yes' if name in theirs else ''} |"
        for name, kind, remark in scipy_rows()
    ]


def probe_line() -> str:
    """How many of the probes each library differentiates: ours counted now, the peers' when they were last asked."""
    n, failed = len(probes.probes()), probes.failures()
    asked = json.loads((HERE / "peers.json").read_text(encoding="utf-8"))["_probes"]
    others = ", ".join([f"{name} {asked[name]}" for name in ("JAX", "autograd", "MyGrad")])
    return (
        f"Of {n} expressions in plain NumPy (`docs/probes.py`) autoflow differentiates **{n - len(failed)}**; with "
        f"their own `np`, {others}. Those that are missing: {', '.join([f'`{probe}`' for probe in failed])}."
    )


def counts(found: list[tuple[str, str, str]]) -> str:
    """One line: how many of each."""
    kinds = [kind for _, kind, _ in found]
    each = [
        f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(sorted(kinds, key=lambda k: -kinds.count(k))) if kind
    ]
    known = kinds.count("derivative") + kinds.count("composed") + kinds.count("written into")
    return f"**{len(found)} names: {', '.join(each)}. Gradients flow through {known} of them.**"


def page() -> str:
    """The whole file."""
    found, theirs = [row for row in rows() if row[1]], peers()  # of what is new to us the tests say so
    lines = [
        HEAD,
        counts(found),
        "",
        probe_line(),
        "",
        f"| function | autoflow | | vmap | compile | llvm | jax | javascript | {' | '.join(theirs)} |",
        "|---" * (8 + len(theirs)) + "|",
    ]
    there = {f"{s}.{name}": f for s, space in SPACES.items() for name, f in functions(space).items()}
    for name, kind, remark in found:
        marks = " | ".join("yes" if name in names else "" for names in theirs.values())
        is_seen = f"np.{name}" in there and kind in SEEN and name not in UNTIL
        f = there.get(f"np.{name}")
        mapped = f"{ways(f)} | {engines(f)}" if is_seen else " | " * 4
        lines.append(f"| `np.{name}` | {kind} | {remark.replace('|', chr(92) + '|')} | {mapped} | {marks} |")
    return "\n".join(lines) + "\n" + SCIPY + "\n".join(scipy_section()) + "\n"


def missing() -> list[str]:
    """What a peer differentiates and we do not."""
    ours = {name: kind for name, kind, _ in rows()}
    good = {"derivative", "composed", "written into", "new array", "twin"}
    ours |= {f"scipy.{name}": kind for name, kind, _ in scipy_rows()}
    theirs = peers()
    data = json.loads((HERE / "peers.json").read_text(encoding="utf-8"))
    theirs["autograd's SciPy"] = {f"scipy.{name}" for name in data["autograd_scipy"]}
    return sorted({f"{peer}: {name} is {ours.get(name, 'unknown')}" for peer, names in theirs.items()
                   for name in names if ours.get(name) not in good})  # fmt: skip


def main() -> int:
    """Write the page, or with ``--check`` compare it."""
    if "--check" in sys.argv:
        same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
        print("up to date" if same else "out of date: run python docs/make_coverage.py")
        return 0 if same else 1
    PAGE.write_text(page(), encoding="utf-8")
    print(counts(rows()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
