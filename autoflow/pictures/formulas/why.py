"""``x.why(loss)``: the chain rule, written out.

    ∂a5/∂x: 2 paths from x to a5
      a5 → a3 → a1**2 → a1 → x   1 × 0.8415 × 7 × 1 = 5.89
      a5 → a4 → a1 → x           −1 × 0.5403 × 1 = −0.5403
      ...
    ∂a5/∂x = 5.35 (through a1) + 4.78 (through a2) = 10.13

A derivative is the sum over all paths of the product of the local derivatives along each. There may be more paths
than atoms in the universe, so they are counted without being walked, and only the largest are written out
(:mod:`.chain`). Backpropagation computes the last line: it adds up at every node, and so uses every arrow only once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from typing import Any

from ...backprop.engine import topological
from ...base.errors import LostGradientError, lost
from ...base.modes import modes
from ...nodes.cuts import cuts_among, explain
from ...nodes.nodes import Node, Variable
from ...program.source import taken_out
from ..model.data import Numbers, add_up, counted, number, numbers, signed_sum
from ..model.gathering import total
from ..model.names import CLOSED, binding, titles_of
from ..model.style import readable
from .algebra import DOTS, Term, literal, negate, plus, product_of
from .chain import MANY, Chain, Route, records_between
from .latex import below, partial, result_term


@dataclass(frozen=True, slots=True)
class Through:
    """All paths that go through one of the operations that use the variable."""

    title: str  # empty if that is the output itself
    latex: str
    gradient: Numbers  # of that operation
    product: Numbers  # what it sends to the variable

    def words(self) -> str:
        """``through a1``."""
        return f"through {self.title}" if self.title else "directly"


@dataclass(frozen=True, slots=True)
class Why:
    """Why a gradient is what it is. ``print`` it; notebooks show the formulas."""

    output: str
    variable: str
    count: int  # of paths; MANY means at least that number
    paths: tuple[Route, ...]  # the largest, of arrays the first; in the order of ``through``
    through: tuple[Through, ...]
    total: Numbers
    symbols: tuple[str, str]  # output and variable in LaTeX
    digits: int
    taken_out: tuple[str, ...] = ()  # what the program takes out of the graph as numbers on the way: float(w), y.value

    def __str__(self) -> str:
        name = slope(self.output, self.variable)
        lines = [f"{name}: {how_many(self.count, 'path')} from {self.variable} to {self.output}"]
        ways = [" → ".join(path.titles) for path in self.paths]
        room = min(60, max([len(way) for way in ways], default=0))
        lines += [f"  {way:<{room}}   {self.line(path)}" for way, path in zip(ways, self.paths, strict=True)]
        if self.count > len(self.paths):
            left = self.count if self.count >= MANY else self.count - len(self.paths)
            sizes, are = (", which is not larger,", "is") if left == 1 else (", none of them larger,", "are")
            others = how_many(left, "other") + sizes * bool(self.paths and self.paths[0].factors)
            lines.append(f"  {others} {are} left out: why(..., paths=N) shows N")
        if self.taken_out:
            lines.append(f"  no gradient through {', '.join(self.taken_out)}, taken out of the graph as numbers")
        return readable("\n".join([*lines, *self.factored(name)]))

    def line(self, path: Route) -> str:
        """``1 × 0.8415 × 7 = 5.89``; of arrays how large the contribution is."""
        if not path.factors:
            return self.size(path.product)
        words = ["…" if f is None else number(f, self.digits) for f in path.factors]
        factors = " × ".join([f"({w})" if k and w.startswith("−") else w for k, w in enumerate(words)])
        return f"{factors} = {path.product.text(self.digits)}" if len(path.factors) > 1 else factors

    def size(self, amount: Numbers) -> str:
        """A number, a few numbers, or shape and root mean square."""
        if amount.scalar or amount.elements:
            return amount.text(self.digits)
        return f"{amount.shape_text()} with rms {amount.magnitude(self.digits)}"

    def factored(self, name: str) -> list[str]:
        """The sum over what the operations that use the variable send to it."""
        if not self.through:
            return []
        scalars = self.total.scalar and all([t.gradient.scalar for t in self.through])
        words, sign, whole = add_up([t.product for t in self.through], self.total, self.digits)
        if not (self.total.scalar or self.total.elements):
            words, sign, whole = [self.size(t.product) for t in self.through], "=", self.size(self.total)
        parts = signed_sum([(word, f" ({t.words()})") for word, t in zip(words, self.through, strict=True)])
        if len(self.through) == 1 and not self.through[0].title:
            parts = self.size(self.total)
        end = f" {sign} {whole}".replace("  ", " ") if len(self.through) > 1 else ""
        lines = [f"{name} = {parts}{end}"]
        if scalars and len(self.through) > 1 and all([t.title for t in self.through]):
            terms = [f"{slope(self.output, t.title)} · {slope(t.title, self.variable)}" for t in self.through]
            lines.insert(0, f"{name} = {' + '.join(terms)}")
        return lines

    def to_latex(self) -> str:
        r"""The same as formulas: the local derivatives of each path, their numbers, and the sum."""
        left = partial(*self.symbols)
        if not self.paths or not self.paths[0].factors:
            return left + r" = \text{a sum of products of Jacobian matrices: print this for sizes}"
        more = r" + \cdots" if self.count > len(self.paths) else ""
        symbols = reduce(plus, [path.formula for path in self.paths])
        rounded = [[DOTS if f is None else literal(f, 4) for f in path.factors] for path in self.paths]
        values = reduce(plus, map(product_of, rounded))
        words, sign, whole = add_up([t.product for t in self.through], self.total, 4)
        pairs = zip(self.through, words, strict=True)
        ways = [rf"\text{{through }} {t.latex}" if t.title else r"\text{directly}" for t in self.through]
        parts = [add_underbrace(number_text(t.product, word), way) for (t, word), way in zip(pairs, ways, strict=True)]
        rows = [f"{left} &= {symbols.text}{more}", f"&= {values.text}{more}"]
        rows += [f"&= {reduce(plus, parts).text}"] if len(parts) > 1 else []
        equal = r"\approx" if sign == "≈" and len(parts) > 1 else "="
        rows.append(f"&{equal} {number_text(self.total, whole).text}")
        return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What notebooks show."""
        return {"text/plain": str(self), "text/latex": f"$\\displaystyle {self.to_latex()}$"}

    __repr__ = __str__


def why(x: object, node: object, *, paths: int = 8) -> Why:
    """The derivative of ``node`` with respect to ``x`` as a sum over paths, and how the sum is factored.

    node : the output; of an array the sum of its elements, as in ``backward()``.
    paths : at most this many are shown: those with the largest products. Along a path with arrays the steps are
        matrices (Jacobians): there the shape and size of what arrives is shown, for the first paths found. They stand
        in the order in which the last line, and the picture, adds up what arrives at ``x``.

    Raises LostGradientError if no gradient of ``node`` reaches ``x``, ValueError for complex outputs.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> a, s = x * x, np.sin(x)
    >>> b = a - s
    >>> a.name, b.name = "a", "b"
    >>> print(x.why(b))
    ∂b/∂x: 3 paths from x to b
      b → a → x   1 × 3 = 3
      b → a → x   1 × 3 = 3
      b → s → x   −1 × (−0.99) = 0.99
    ∂b/∂x = ∂b/∂a · ∂a/∂x + ∂b/∂s · ∂s/∂x
    ∂b/∂x = 6 (through a) + 0.99 (through s) = 6.99
    """
    target, root = check_record(x, "what to differentiate by"), check_record(node, "the output")
    order = records_between(root, target)
    everything = topological(root)
    titles = titles_of(everything)
    for record in reversed(everything):
        if record.parents:
            titles.add(record)
    if not order:
        names = titles.of(root), titles.of(target)
        if target is not root and records_between(target, root):
            raise LostGradientError(
                f"no gradient of {names[0]} reaches {names[1]}, because {names[1]} was computed from {names[0]}: the "
                f"other way round, {names[0]}.why({names[1]})"
            )
        raise lost(f"no gradient of {names[0]} reaches {names[1]}", cuts_among([r for r in everything if r.parents]))
    if root.dtype.kind == "c":
        raise ValueError(f"{titles.of(root)} is complex, so it has no gradient: take .real, .imag or np.abs of it")
    walk = Chain(order, root, target, titles)
    gradients = walk.gradients()
    through, users = [], walk.through(gradients)
    for r, parts in users.items():
        title = "" if r is root else titles.of(r)
        through.append(Through(title, below(r, titles).text, numbers(gradients[r]), numbers(total(parts, target))))
    limit = max(1, paths)
    routes = walk.largest_paths(limit) if walk.scalars else walk.first_paths(limit, gradients)
    places = {user: place for place, user in enumerate([None, *users])}
    routes.sort(key=lambda path: places[path.user])  # those that one part of the sum adds up stand together
    above = result_term(root, (), titles) if root.parents else below(root, titles)
    return Why(
        titles.of(root), titles.of(target), walk.count_paths(), tuple(routes), tuple(through),
        numbers(gradients[target]), (above.text, below(target, titles).text), modes().digits,
        tuple(dict.fromkeys([text for _, text in taken_out(topological(root))])),
    )  # fmt: skip


def check_record(x: object, what: str) -> Any:
    """The record of an operation, a live Variable itself."""
    if not isinstance(x, Node):
        raise lost(f"{what} is a node; {type(x).__name__} {str(x)[:60]} has no history")
    source = x if isinstance(x, Variable) and x.requires_grad else x.grad_fn
    if source is None:
        raise lost(f"{what}, {x.name}, is constant, no gradient flows to it", explain(x))
    return source


def slope(above: str, under: str) -> str:
    """``∂a5/∂x``, ``∂a5/∂(x + y)``."""
    is_whole = [re.fullmatch(r"\w+([(\[].*)?", w) and binding(w) == CLOSED for w in (above, under)]
    words = [w if whole else f"({w})" for w, whole in zip((above, under), is_whole, strict=True)]
    return f"∂{words[0]}/∂{words[1]}"


def how_many(n: int, word: str) -> str:
    """``3 paths``; above MANY nobody has counted them."""
    return f"more than 10¹⁸ {word}s" if n >= MANY else counted(n, word)


def number_text(amount: Numbers, word: str) -> Term:
    """One number in LaTeX, with the digits of ``word``; of arrays their size."""
    if amount.scalar and re.fullmatch(r"−?[0-9.]+", word):
        return negate(Term(word[1:])) if word.startswith("−") else Term(word)
    if amount.scalar and amount.elements:
        return literal(amount.elements[0], 4)
    return Term(rf"\text{{{amount.shape_text()}}}")


def add_underbrace(amount: Term, words: str) -> Term:
    """A number with words below it; its sign stays in front."""
    if amount.inner is not None:
        return negate(add_underbrace(amount.inner, words))
    return Term(rf"\underbrace{{{amount.text}}}_{{{words}}}")
