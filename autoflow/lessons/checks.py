"""``check(dL_db=12)``: is that right, and if not, which step should one look at?

A lesson's questions are a dict of :class:`Question`, by the names that the notebook uses. ``...`` is an answer that has
not been given yet.
"""

from __future__ import annotations

import difflib
import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCE = 0.01  # of numbers that are not whole: two or three digits on paper are enough


@dataclass(frozen=True)
class Question:
    """One blank, or one exercise.

    right : the answer; or a function that gets an answer, often a function as well, and says whether it is right.
    hint : which step to look at again, if the answer is wrong.
    wrong : usual mistakes, each with what it is: ``{6: "That is b itself."}``. Or, where they are functions or lists,
        pairs: ``[(lambda x: x, "...")]``. There is at least one, and the tests see that it is called wrong.

    >>> question = Question(12, hint="Look at L = b**2.", wrong={6: "That is b itself."})
    >>> question.is_right(12.0), question.is_right(6)
    (True, False)
    """

    right: Any
    hint: str
    wrong: Any

    def mistakes(self) -> list[tuple[Any, str]]:
        """The usual mistakes, and what to say of each."""
        return list(self.wrong.items() if isinstance(self.wrong, Mapping) else self.wrong)

    def is_right(self, answer: Any) -> bool:
        """What a function raises is not caught."""
        return bool(self.right(answer)) if callable(self.right) else same(answer, self.right)

    def verdict(self, answer: Any) -> tuple[bool, str]:
        """Whether the answer is right, and what to say."""
        if answer is ... or (isinstance(answer, (tuple, list, set)) and any([part is ... for part in answer])):
            return False, "write your answer instead of the dots"
        try:
            if self.is_right(answer):
                return True, f"{shown(answer)} is right"
            trouble = ""
        except Exception as error:  # the answer may be a function of the student's, which may do anything
            trouble = f" (it raised {type(error).__name__}: {error})"
        said = [
            text
            for mistake, text in self.mistakes()
            if answer is mistake or (not callable(mistake) and same(answer, mistake))
        ]
        return False, " ".join([f"{shown(answer)} is not right{trouble}.", *said[:1], self.hint])


class Marks:
    """What ``check`` returns: a line for each answer. True if all are right."""

    def __init__(self, verdicts: Mapping[str, tuple[bool, str]]) -> None:
        self.verdicts = dict(verdicts)

    def __bool__(self) -> bool:
        return all([right for right, _ in self.verdicts.values()])

    def __repr__(self) -> str:
        width = max([len(name) for name in self.verdicts], default=0)
        signs = {name: "✓" if right else "·" for name, (right, _) in self.verdicts.items()}
        return "\n".join([f"{signs[name]} {name:<{width}}  {text}" for name, (_, text) in self.verdicts.items()])


def checker(lesson: str) -> Callable[..., Marks]:
    """``check`` for a lesson: call it with answers by name.

    lesson : the name of its notebook without the number. ValueError if there is none, or no such question.

    >>> check = checker("backprop_by_hand")
    >>> check(dL_db=12)
    ✓ dL_db  12 is right
    >>> check(dL_da=..., dL_db=6)
    · dL_da  write your answer instead of the dots
    · dL_db  6 is not right. That is b itself. Look at the step L = b²: its local derivative is 2b.
    """
    questions = questions_of(lesson)

    def check(**answers: Any) -> Marks:
        """Compare answers, given by name, with the right ones."""
        for name in answers:
            if name not in questions:
                near = difflib.get_close_matches(name, questions, n=1)
                advice = f"did you mean {near[0]}?" if near else f"it asks for {', '.join(questions)}"
                raise ValueError(f"this lesson has no question {name!r}: {advice}")
        return Marks({name: questions[name].verdict(answer) for name, answer in answers.items()})

    return check


def questions_of(lesson: str) -> dict[str, Question]:
    """The questions of a lesson."""
    try:
        module = importlib.import_module(f"{__package__}.{lesson}")
    except ModuleNotFoundError:
        raise ValueError(f"there are no questions for a lesson {lesson!r}") from None
    found: dict[str, Question] = module.QUESTIONS
    return found


def same(answer: Any, right: Any) -> bool:
    """Whole numbers, words and shapes exactly, other numbers to 1 %, sets in any order, arrays entry by entry."""
    if isinstance(right, str):
        return isinstance(answer, str) and answer.strip().casefold() == right.strip().casefold()
    if isinstance(right, bool):
        return isinstance(answer, (bool, np.bool_)) and bool(answer) == right
    try:
        if isinstance(right, set):  # lists in the answer are an error
            return isinstance(answer, (set, list, tuple)) and set(answer) == right
        given, wanted = np.asarray(getattr(answer, "value", answer), float), np.asarray(right, float)
    except (TypeError, ValueError):
        return False
    if given.shape != wanted.shape:
        return False
    exact = np.asarray(right).dtype.kind == "i"
    return bool(np.all(np.isclose(given, wanted, rtol=1e-9 if exact else TOLERANCE, atol=1e-9)))


def shown(answer: Any) -> str:
    """An answer in a few words."""
    if callable(answer):
        return f"{getattr(answer, '__name__', 'your function')}()"
    if isinstance(answer, str):
        return repr(answer)
    value = getattr(answer, "value", answer)
    if isinstance(value, (float, int, np.ndarray, np.generic)) and np.ndim(value) == 0 and not isinstance(value, bool):
        number = float(value)
        return f"{number:.6g}" if math.isfinite(number) else str(number)
    text = " ".join(str(value).split())
    return text if len(text) <= 40 else text[:39] + "…"
