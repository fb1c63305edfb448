"""The names that a program gives to the nodes of a graph: the targets of assignments, attributes, items; else the
expressions.

A record is anything with ``number``, ``parents``, ``place``, ``last`` and ``rule.name``. Nothing is read of the user's
objects but which of them are the same: ``self.w[2]`` in a class is ``model.layers[0].w[2]`` because the instruction
that called ``__init__`` says what its object was assigned to, also when the object is gone.
"""

from __future__ import annotations

import ast
import dis
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from inspect import CO_OPTIMIZED, CO_VARARGS
from itertools import groupby
from types import CodeType
from typing import Any, TypeAlias

from .places import LATER, Activation, Identity, Loop, RecordLike, Spot, is_cell
from .source import COMPREHENSIONS, COUNT, RETURNED, Expression, Place, Target, expression_of, find, is_path, written

FRAMES = COMPREHENSIONS | {"<lambda>"}
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
DEEPEST = 20  # calls that a name is followed through
OBJECTS = ("self", "cls")
Space: TypeAlias = "Spot | Identity | tuple[str, str] | str"  # what a name belongs to
Owned = tuple[Space, str]  # with the name
SHORT = 8  # characters of a value that a write is shown with
ONE = (ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Attribute, ast.Compare)  # of each, an execution is one record


def function_around(activation: Activation, frames: frozenset[str] = FRAMES) -> Activation:
    """The function or module around comprehensions, generator expressions and lambdas."""
    while activation.code.co_name in frames and activation.parent is not None:
        activation = activation.parent
    return activation.whole


class Naming:
    """The names of the nodes of one graph: of its records, and of its leaves."""

    def __init__(self, nodes: Iterable[Any]) -> None:
        holders = sorted([x for x in nodes if hasattr(x, "last") or hasattr(x, "_place")], key=lambda x: int(x.number))
        self.records = [x for x in holders if hasattr(x, "last") and x.place is not None]
        self.leaves = [x for x in holders if not hasattr(x, "last") and x._place[0] is not None]
        self.expressions = {id(x): expression_of(x) for x in holders}
        self.names: dict[int, str] = {}
        self.keys: dict[int, Owned] = {}  # records (ids) -> the name that each has, and its space
        self.whole: set[int] = set()  # ids of records that are the value of their expression,
        self.based: set[int] = set()  # of writes into a view, which another one writes into its base,
        # of those others, each with whether the statement that it belongs to writes into another array
        self.carried = {id(r): r.parents[1].rule.name in BASES for r in self.records if is_carried(r)}
        self.parts = {*self.carried}  # and of all that go on with the execution that another began
        self.calls: dict[int, str] = {}  # what calls return that are part of an expression
        self.given: dict[Owned, list[RecordLike]] = {}  # (its space, a name) -> the records that it was given to
        self.numbered: dict[Owned, int] = {}  # the same -> the last number that a leaf of that name has, or 0
        self.latest = {(whole(r.place), r.last): r.number for r in self.records}  # of each instruction of a call
        self.find_wholes()
        self.name_leaves()
        self.name_records()

    def expression(self, x: Any) -> Expression | None:
        """The expression that made a record or a leaf."""
        return self.expressions[id(x)] if id(x) in self.expressions else expression_of(x)

    def place(self, x: Any) -> Place | None:
        """Where it was made."""
        return getattr(self.expressions.get(id(x)), "place", None)

    def name(self, x: Any) -> str | None:
        """The name of a record or a leaf in the program; None if it has no name there."""
        if hasattr(x, "_place") and id(x) not in self.names and id(x) not in self.expressions:  # a Constant
            text = self.stored(self.expression(x), *x._place)
            self.names.update({} if text is None else {id(x): ending(text, 1)})
        return self.names.get(id(x))

    def text(self, record: RecordLike) -> str | None:
        """The expression whose value a record is."""
        expr = self.expression(record) if id(record) in self.whole else None
        return None if expr is None else self.calls.get(id(record), expr.text)

    def operand_text(self, record: RecordLike, slot: int, exact: bool = False) -> str | None:
        """The name of an operand where it is used. ``exact``: where the expression is nothing but this operation."""
        expr = self.expression(record) if id(record) not in self.carried else None
        fits = expr is not None and (is_one(record, expr) if exact else self.fits(record, slot, expr))
        if expr is None or not fits:
            return None
        if expr.sequence:
            return f"{expr.sequence}[{slot}]" if is_one(record, expr) else None
        return expr.operand_text(slot)

    def operand_source(self, record: RecordLike, slot: int) -> str | None:
        """The expression of an operand where it is used, if what is around it is nothing but this operation."""
        expr = self.expression(record) if id(record) not in self.carried else None
        parts = expr.operands() if expr is not None and is_one(record, expr) and not expr.sequence else ()
        return written(parts[slot]) if slot < len(parts) else None

    def operand(self, record: RecordLike, slot: int) -> str | None:
        """The name of a plain operand where it is used, or in the caller."""
        text = self.operand_text(record, slot)
        return None if text is None else self.with_object(*[*meanings(text, record.place, record.last)][-1])

    def write(self, record: RecordLike) -> str:
        """The statement that writes a record's value into an array: ``f[1:] −= …``; empty if no statement does."""
        expr = self.expression(record)
        if expr is None or (statement := expr.statement) is None or self.carried.get(id(record)):
            return ""
        target, value, sign = expr.node, written(statement.value), ""
        if isinstance(statement, ast.AugAssign):
            target = statement.target
            sign = ast.unparse(statement)[len(ast.unparse(target)) + 1 :].partition("=")[0].replace("-", "−")
        return f"{written(target)} {sign}= {value if len(value) <= SHORT else '…'}"

    # -- objects

    @cached_property
    def objects(self) -> dict[Identity | None, Activation]:
        """The identity of each object -> the call of its ``__init__``."""
        seen: set[int] = set()
        inits: dict[Identity | None, Activation] = {}
        for x in (*self.leaves, *self.records):
            a = x.place if hasattr(x, "last") else x._place[0]
            while type(a) is Activation and id(a) not in seen:
                seen.add(id(a))
                above = a.parent and function_around(a.parent)
                if a.owner and a.code.co_name == "__init__" and not (above and above.owner is a.owner):
                    inits[a.owner] = a  # what super().__init__() calls makes the same object
                a = a.parent
        return inits

    def object_path(self, owner: Identity | None, depth: int = 0) -> str | None:
        """Where an object was put: ``model.layers[0]``."""
        creation = self.objects.get(owner)
        if creation is None or creation.parent is None or depth > DEEPEST:
            return None
        return self.stored(caller_of(creation), creation.parent, creation.call, creation.index, depth + 1)

    def with_object(self, text: str, place: Spot, depth: int = 0) -> str:
        """The text with ``self`` replaced by the object's own path."""
        if (text == "self" or text.startswith(("self.", "self["))) and type(place) is Activation:
            path = self.object_path(function_around(place).owner, depth)
            return text if path is None else path + text[4:]
        return text

    # -- leaves

    def stored(self, expr: Expression | None, place: Spot, last: int, index: int | None, depth: int = 0) -> str | None:
        """What the value of an expression, the ``index``-th that it had in this call, is stored in."""
        if expr is None or type(place) is not Activation:
            return None
        target = expr.target
        if target is RETURNED:
            outer = function_around(place, COMPREHENSIONS)
            if depth > DEEPEST or outer.code.co_name == "__init__":
                return None
            return self.stored(caller_of(outer), outer.parent, outer.call, None, depth + 1)
        text = target_text(target, index)
        counts = [x for x in target if not isinstance(x, str)] if isinstance(target, list) else []
        inlined = place.code.co_name not in FRAMES and counts
        if text is None or len(counts) > 1 or (inlined and len(list(expr.loops())) > 1):
            return None  # one running count says nothing of two indices
        return self.with_object(text, place, depth)

    def name_leaves(self) -> None:
        """Where they were made, else where they are used first; the shortest ending that tells them apart."""
        paths: dict[int, str] = {}
        for x in self.leaves:
            if getattr(x, "_name", None):
                self.names[id(x)] = x._name
            elif (text := self.stored(self.expressions[id(x)], *x._place) or self.first_use(x)) is not None:
                paths[id(x)] = text
        places = {id(x): x._place for x in self.leaves}
        by_last = sorted(paths, key=lambda key: ending(paths[key], 1))
        for _, keys in groupby(by_last, key=lambda key: ending(paths[key], 1)):
            alike = list(keys)
            distinct, brief = len({paths[key] for key in alike}), {}
            for n in range(1, 9):
                brief = {key: ending(paths[key], n) for key in alike}
                if len(set(brief.values())) == distinct:
                    break
            for key, text in brief.items():
                same = [k for k in alike if brief[k] == text]
                is_told = len({places[k][2] for k in same}) == len(same)
                number = (places[key][2] if is_told else same.index(key)) + 1 if len(same) > 1 else 0
                self.names[key] = text + str(number or "").translate(SUBSCRIPTS)
                named = space_of(places[key][0], text), text
                self.numbered[named] = max(number, self.numbered.get(named, 0))

    @cached_property
    def users(self) -> dict[int, list[tuple[RecordLike, int]]]:
        """The records that use a node, in their order, and as which operand."""
        users: dict[int, list[tuple[RecordLike, int]]] = {}
        uses = [(id(x), (r, slot)) for r in self.records for slot, x in enumerate(r.parents) if x is not None]
        for key, use in uses:
            users.setdefault(key, []).append(use)
        return users

    def first_use(self, x: Any) -> str | None:
        """The name of a leaf at its first use, where that is not the variable of a loop, if there is such a use."""
        used = [(r, text) for r, slot in self.users.get(id(x), ()) if (text := self.operand(r, slot)) is not None]
        own = (text for r, text in used if not loops_of(self.expression(r), text))
        return next(own, used[0][1] if used else None)

    @staticmethod
    def fits(record: RecordLike, slot: int, expr: Expression) -> bool:
        """Are the operands of a record those that the expression shows? A function that is composed of others makes
        several records; only the first use is known, and only if there is one operand."""
        if is_one(record, expr) or slot >= len(record.parents):
            return is_one(record, expr)
        p = record.parents[slot]
        is_inside = getattr(p, "place", None) is record.place and p.last == record.last
        if p is None and isinstance(call := expr.node, ast.Call):  # a method, or a library, may have data of its own
            is_ours = isinstance(call.func, ast.Name) and not expr.is_module(call.func)
            return slot == 0 and is_ours and len(expr.operands()) == 1 and not call.keywords
        named = [x.value for x in getattr(expr.node, "keywords", ()) if not isinstance(x.value, ast.Constant)]
        return slot == 0 and len(expr.operands()) == 1 and not named and not is_inside

    # -- records

    def find_wholes(self) -> None:
        """Which records are the value of their expression. In a function that is composed of others it is the one that
        none of the others uses; if there are several, the value is not a record."""
        own = sorted([r for r in self.records if id(r) not in self.carried], key=lambda r: id(r.place))
        for _, group in groupby(own, key=lambda r: (id(r.place), r.last)):
            run = list(group)
            expr = self.expressions[id(run[0])]
            if len(run) == 1 or (expr is not None and expr.is_write) or all([is_one(r, expr) for r in run]):
                self.whole.update(map(id, run))
            else:
                used = {id(p) for r in run for p in r.parents}
                left = [id(r) for r in run if id(r) not in used]
                self.parts.update(map(id, run[1:]))  # it may be one execution
                self.whole.update(left if len(left) == 1 else ())
        for r in [r for r in self.records if r.rule.name in BASES and r.parents[1] is not None]:
            expr, value = self.expressions[id(r)], self.expression(r.parents[1])
            if expr is not None and value is not None and value.node is expr.statement:
                self.parts.add(id(r))  # u[1:] -= v writes a view into its base, and u[0] -= v the number that it makes
                if not isinstance(expr.statement.target, ast.Name):
                    self.based.update({id(r.parents[1])} - self.carried.keys())

    def name_records(self) -> None:
        """Targets, numbered where a name is given more than once in one call; else as they are used."""
        located = [(r, expr) for r in self.records if (expr := self.expressions[id(r)]) is not None]
        waiting = [r for r, expr in located if not self.give_target(r, expr)]
        for _, group in groupby(waiting, key=lambda r: (id(r.place), r.last)):
            self.unpack(list(group))
        for r in waiting:
            if id(r) not in self.calls and id(r) not in self.keys and (text := self.used_as(r)) is not None:
                self.give(r, r.place, text)
        for r in self.records if self.calls else ():
            if id(r) in self.calls and (used := self.used_by_caller(r)) is not None:
                del self.calls[id(r)]
                self.give(r, *used)
        self.number()

    def give(self, r: RecordLike, call: Spot, text: str) -> None:
        """A record gets a name in a call."""
        self.keys[id(r)] = key = space_of(call, text), text
        self.given.setdefault(key, []).append(r)

    def give_target(self, r: RecordLike, expr: Expression) -> bool:
        """Name a record by the target of its expression, if it has one."""
        target, before, goes_on = expr.target, r.parents[0], id(r) in self.carried
        if id(r) in self.based or not (goes_on or id(r) in self.whole):
            return False
        is_base = self.carried.get(id(r)) or (goes_on and not expr.is_write)  # of what is written into
        node = getattr(expr.node, "target", expr.node)
        is_item = expr.stores or id(r) in self.parts
        if expr.is_write and (is_item or r.shape != ()):
            if is_item:
                target = [written(node.value)] if isinstance(node, ast.Subscript) else None
            code = getattr(function_of(r.place), "code", r.place)
            goes_on |= target is None or target_text(target) in code.co_varnames[: code.co_argcount]
        if goes_on and id(before) in self.keys and before in self.given[self.keys[id(before)]][-1:]:
            # Another one's array, one without a name here, or what a view looks at; if its name is still its own.
            key, text = self.keys[id(r)] = self.keys[id(before)]
            self.given[key, text].append(r)
            return True
        if target is RETURNED and type(r.place) is Activation and not is_base:
            name, call = self.returned(r.place, r)
        else:
            name, call = None if is_base else target_text(target), function_of(r.place)
        if name is not None and call is None:
            self.calls[id(r)] = name
        elif name is not None:
            self.give(r, call, name)
        return name is not None

    def returned(self, activation: Activation, r: RecordLike, depth: int = 0) -> tuple[str | None, Spot]:
        """What the caller does with the value ``r`` of a call: the target, and the call that has it; else the call's
        own text. Nothing if a library has called the function, and has computed with its value."""
        called = function_around(activation, COMPREHENSIONS)
        above, outer = caller_of(called), called.parent
        if not (above and outer) or depth > DEEPEST or self.latest.get((outer.whole, called.call), 0) > r.number:
            return None, None
        if above.target is RETURNED:
            return self.returned(outer, r, depth + 1)
        if (text := target_text(above.target)) is not None:
            return text, function_of(outer)
        return (above.text, None) if isinstance(above.node, ast.Call) else (None, None)

    def unpack(self, group: Sequence[RecordLike]) -> None:
        """``u, v = np.split(x, 2)``: one record of the array for each name."""
        target = getattr(self.expressions[id(group[0])], "target", None)
        node: Any = target[0] if isinstance(target, list) and len(target) == 1 else None
        if not isinstance(node, (ast.Tuple, ast.List)) or any([isinstance(x, ast.Starred) for x in node.elts]):
            return
        used = {id(p) for r in group for p in r.parents}
        made_of: dict[int, Any] = {}  # what each was computed from outside of the group: one execution
        results: dict[Any, list[RecordLike]] = {}
        for r in group:
            inside = [made_of[id(p)] for p in r.parents if id(p) in made_of]
            made_of[id(r)] = inside[0] if inside else tuple(map(id, r.parents))
            if id(r) not in used:
                results.setdefault(made_of[id(r)], []).append(r)
        for records in results.values():
            for part, r in zip(node.elts if len(records) == len(node.elts) else (), records, strict=False):
                self.give(r, r.place, written(part))

    def used_as(self, r: RecordLike) -> str | None:
        """The variable that it is in wherever the call that made it uses it."""
        names = set()
        for user, slot in self.users.get(id(r), ()):
            words = meanings(self.operand_text(user, slot), user.place, user.last)
            text = next((word for word, place in words if whole(place) is whole(r.place)), None)
            inner = [x for x in loops_of(self.expression(user), text or "") if isinstance(x, ast.comprehension)]
            if text is not None and text.isidentifier() and not inner:  # a comprehension has variables of its own
                names.add(text)
        return names.pop() if len(names) == 1 else None

    def used_by_caller(self, r: RecordLike) -> tuple[Spot, str] | None:
        """The variable that holds the result of a call where one of the callers uses it, and that call."""
        around, outer = {}, r.place
        while type(outer) is Activation:
            around[id(outer.whole)], outer = outer, outer.parent
        names = set()
        for user, slot in self.users.get(id(r), ()):
            text, call = self.operand_text(user, slot), whole(user.place)
            if call is whole(r.place) or id(call) not in around or text is None or not text.isidentifier():
                return None
            names.add((function_of(user.place), text))
        return names.pop() if len(names) == 1 else None

    def number(self) -> None:
        """``f``; or ``f₁``, ``f₂`` where it is assigned or written again."""
        own_names = [(x._place[0], x._name) for x in self.leaves if getattr(x, "_name", None)]
        reserved = self.numbered.keys() | {(space_of(place, name), name) for place, name in own_names}
        for key, records in self.given.items():
            alone = len(records) == 1 and key not in reserved
            for k, r in enumerate(sorted(records, key=lambda r: int(r.number)), 1 + self.numbered.get(key, 0)):
                own = self.with_object(key[1], r.place)
                self.names[id(r)] = own if alone else own + str(k).translate(SUBSCRIPTS)
        for r in [r for r in self.records if id(r) in self.keys and self.is_anothers(r)]:
            del self.names[id(r)], self.keys[id(r)]
            above = caller_of(function_around(r.place, COMPREHENSIONS))
            self.calls.update({id(r): above.text} if above and above.is_call else {})

    def is_anothers(self, r: RecordLike) -> bool:
        """Has the function that made a record, or one between it and the caller that names it, another value of that
        name? In the boxes of both it would be told twice."""
        (space, text), call = self.keys[id(r)], function_of(r.place)
        while type(call) is Activation and (own := space_of(call, text)) != space:
            if self.names[id(r)] in [self.names.get(id(x)) for x in self.given.get((own, text), ())]:
                return True
            call = call.parent and function_around(call.parent)
        return False


def whole(place: Spot) -> Spot:
    """What stands for the call of a place, whatever the turn; where calls are not known, its code."""
    return place.whole if type(place) is Activation else place


def function_of(place: Spot) -> Spot:
    """The call of a function that a place is in."""
    return function_around(place) if type(place) is Activation else place


def space_of(place: Spot, text: str) -> Space:
    """What a name belongs to: an attribute of ``self`` to the object, a global variable to its module (to all cells of
    a notebook), one that inner functions set to the file, any other to the call of a function that it is used in."""
    call = function_of(place)
    if type(call) is not Activation:
        return call
    name, code = re.split(r"\W", text)[0], call.code
    if name == "self" and call.owner is not None:
        return call.owner
    if name in code.co_freevars or (name in code.co_cellvars and is_set_before(code, name, 0)):
        return code.co_filename, name  # ``nonlocal``: whose variable it is a function that has returned does not tell
    is_local = name in (*code.co_varnames, *code.co_cellvars)
    if code.co_name != "<module>" and (is_local or not code.co_flags & CO_OPTIMIZED):
        return call
    return "" if is_cell(code.co_filename) else code.co_filename


def is_one(record: RecordLike, expr: Expression | None) -> bool:
    """Does each execution of the expression make one record?"""
    return expr is not None and is_of(expr, record.rule.name)


def is_of(expr: Expression, operation: str) -> bool:
    """Does the expression do nothing but this operation?"""
    if expr.is_call:
        return expr.called in (operation, SYNONYMS.get(operation))
    return isinstance(expr.node, ONE)


def is_carried(record: RecordLike) -> bool:
    """Is it a write into a view, once more, for the array that the view looks at? (See ``plan_rebinding``.)"""
    x: Any = record.parents[1] if record.rule.name in BASES else None
    return hasattr(x, "last") and (x.place, x.last, x.number + 1) == (record.place, record.last, record.number)


BASES = ("setitem", "put_view")  # what a write into a view is for its base
SYNONYMS = {"absolute": "abs", "concatenate": "concat"}


def target_text(target: Target, index: int | None = None) -> str | None:
    """A target as a text; None if it is not a target, or if it depends on an unknown count."""
    if not isinstance(target, list):
        return None
    parts = []
    for part in target:
        if part is COUNT or isinstance(part, list):
            if index is None or (isinstance(part, list) and index >= len(part)):
                return None
            parts.append(f"[{part[index] if isinstance(part, list) else index}]")
        elif isinstance(part, str):
            parts.append(part)
        else:
            return None
    return "".join(parts)


def caller_of(call: Activation) -> Expression | None:
    """The expression that calls a function; None if it calls something else, which calls the function in its turn: one
    of Python's own or of a package, as ``sum(items)`` does, what it hands the function to, as ``search(loss, 1.0)``, or
    what takes the next value from a generator."""
    caller = find(call.parent.code, call.call) if call.parent is not None else None
    if caller is not None and isinstance(caller.node, ast.Call):
        own = call.code.co_name
        if caller.called != own and (call.code.co_flags & LATER or caller.is_librarys):
            return None
        inside = [x for y in (*caller.node.args, *caller.node.keywords) for x in ast.walk(y)]
        functions = [x.func for x in inside if isinstance(x, ast.Call)]
        for x in inside:
            handed = getattr(x, "attr", getattr(x, "id", isinstance(x, ast.Lambda) and "<lambda>"))
            if handed == own and x not in functions:
                return None
    return caller


def meanings(text: str | None, place: Spot, last: int) -> Iterator[tuple[str, Spot]]:
    """What a name is at an instruction: itself, then what each caller has given for it, while it is a parameter; and
    where each of them is said."""
    while text is not None:
        yield text, place
        if type(place) is not Activation or is_set_before(place.code, text, last):
            return
        text, last, place = argument(place, text), place.call, place.parent


def loops_of(expr: Expression | None, name: str) -> list[Loop]:
    """The loops around an expression whose variable a name is, or begins with."""
    first = re.split(r"\W", name)[0]
    loops = [x for x in expr.loops() if not isinstance(x, ast.While)] if expr is not None else []
    return [loop for loop in loops if first in [getattr(x, "id", None) for x in ast.walk(loop.target)]]


@cache
def is_set_before(code: CodeType, name: str, last: int) -> bool:
    """Does a code store something in a variable before that instruction, in an earlier turn of a loop around it, or in
    a function inside? Then a parameter is not what was given."""
    instructions = list(dis.get_instructions(code))
    end = max([last, *[x.offset for x in instructions if "JUMP_BACKWARD" in x.opname and x.argval <= last]])
    stores = [x.argval for x in instructions if x.offset < end and x.opname.startswith("STORE_")]
    inner = [c for c in code.co_consts if isinstance(c, CodeType) and name in c.co_freevars]
    return any([name in (x if isinstance(x, tuple) else (x,)) for x in stores]) or any(
        [is_set_before(c, name, len(c.co_code)) for c in inner]
    )


def argument(call: Activation, name: str) -> str | None:
    """What the caller has given for a parameter: a name, an attribute or an item; else None. By its place only if no
    other is missing, unless the function is called by its name: a ``partial`` has given some before."""
    code, caller = call.code, caller_of(call)
    names = code.co_varnames[: code.co_argcount]
    if caller is None or not isinstance(caller.node, ast.Call) or name not in names:
        return None
    args, words = caller.node.args, {x.arg: x.value for x in caller.node.keywords}
    *around, own = code.co_qualname.split(".")
    has_object, is_method = names[0] in OBJECTS, around[-1:] not in ([], ["<locals>"])
    is_bound = has_object and is_method
    is_named = caller.called in (*around, own) and has_object == is_method  # else its object may be given as well
    owner = getattr(getattr(caller.node.func, "value", None), "id", None)
    is_given = names[0] == "self" and owner in around  # ``Net.forward(net, x)``
    if is_bound and args and (is_given or written(args[0]) in OBJECTS):
        is_bound = is_named = False
    has_others = None in words or code.co_flags & CO_VARARGS
    is_full = not has_others and len(args) + len(words.keys() & {*names}) == len(names) - is_bound
    k = names.index(name) - is_bound
    is_told = (is_full or is_named) and not any([isinstance(a, ast.Starred) for a in args])
    value = words.get(name, args[k] if is_told and 0 <= k < len(args) else None)
    return written(value) if value is not None and is_path(value) else None


@lru_cache(4096)
def ending(path: str, n: int) -> str:
    """The last ``n`` parts of a path. (The dot in ``layers["fc.bias"]`` does not end a part.)"""
    node, encoded, parts = ast.parse(path, mode="eval").body, path.encode(), []
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Attribute):
            parts.append(encoded[node.value.end_col_offset :].partition(b".")[2].decode())
        node = node.func if isinstance(node, ast.Call) else node.value
    return [*parts, path][:n][-1]
