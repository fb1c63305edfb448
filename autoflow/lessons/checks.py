"""``check(dL_db=12)``: is that right, and if not, which step should one look at?

A lesson's questions are a dict of :class:`Question`, by the names that the notebook uses. ``...`` is an answer that has
not been given yet. They are read from the lesson's text file when a checker is made::

    [dL_db]
    right = 12
    hint = "Look at the step L = b²: its local derivative is 2b."
    wrong = [[6, "That is b itself."]]

Numbers, words and true or false are what they are in TOML, and an array is a tuple. All else says its kind, one of
``KINDS``: ``{ set = [1, -5] }``, ``{ check = "pools" }`` for a function of :mod:`.exercises`.
"""

from __future__ import annotations

import difflib
import functools
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, TypeVar

from ..base.columns import aligned
from ..base.lazy import show_bar
from . import exercises
from .exercises import in_few_words, same

T = TypeVar("T")

UNANSWERED = "write your answer instead of the dots"
# What a text file may say besides plain values: ``{ kind = ... }``, and how it is made from that.
KINDS: dict[str, Callable[[Any], Any]] = {
    "set": set,
    "list": list,
    "between": lambda ends: exercises.between(*ends),
    "check": lambda name: getattr(exercises, name),
    "mistake": lambda name: exercises.MISTAKES[name],
}


@dataclass(frozen=True)
class Question:
    """One blank, or one exercise.

    right : the answer; or a function that gets an answer, often a function as well, and says whether it is right.
    hint : which step to look at again, if the answer is wrong.
    wrong : usual mistakes, each with what it is: ``{6: "That is b itself."}``. Or, where they are lists, pairs:
        ``[([1, 2], "...")]``. The tests see that each is called wrong.

    >>> question = Question(12, hint="Look at L = b**2.", wrong={6: "That is b itself."})
    >>> question.is_right(12.0), question.is_right(6)
    (True, False)
    """

    right: Any
    hint: str
    wrong: Any = ()

    def mistakes(self) -> list[tuple[Any, str]]:
        """The usual mistakes, and the comment on each."""
        return list(self.wrong.items() if isinstance(self.wrong, Mapping) else self.wrong)

    def is_right(self, answer: object) -> bool:
        """What a function raises is not caught."""
        return bool(self.right(answer)) if callable(self.right) else same(answer, self.right)

    def judge(self, answer: object) -> tuple[bool, str]:
        """Whether the answer is right, and what to say without the hint."""
        if answer is ... or (isinstance(answer, (tuple, list, set)) and any([part is ... for part in answer])):
            return False, UNANSWERED
        trouble = ""
        try:
            if self.is_right(answer):
                return True, f"{in_few_words(answer)} is right"
        except Exception as error:  # the answer may be a function of the student's, which may do anything
            trouble = f" (it raised {type(error).__name__}: {error})" if callable(answer) else ""
        comments = [text for one, text in self.mistakes() if answer is one or (not callable(one) and same(answer, one))]
        return False, " ".join(filter(None, [f"{in_few_words(answer)} is not right{trouble}.", *comments[:1]]))

    def verdict(self, answer: object) -> tuple[bool, str]:
        """Whether the answer is right, and what to say, with the hint if it is wrong."""
        right, comment = self.judge(answer)
        return right, comment if right or comment == UNANSWERED else f"{comment} {self.hint}"


class Marks:
    """What ``check`` returns: a line for each answer. True if all are right."""

    def __init__(self, verdicts: Mapping[str, tuple[bool, str]]) -> None:
        self.verdicts = dict(verdicts)

    def __bool__(self) -> bool:
        return all([right for right, _ in self.verdicts.values()])

    def __repr__(self) -> str:
        verdicts = self.verdicts.items()
        return "\n".join(aligned([(f"{'✓' if right else '·'} {name}", text) for name, (right, text) in verdicts]))


def checker(lesson: str) -> Callable[..., Marks]:
    """``check`` for a lesson: call it with answers by name.

    lesson : the name of its notebook without the number. ValueError if there is no such lesson or question.

    >>> check = checker("backprop_by_hand")
    >>> check(dL_db=12)
    ✓ dL_db  12 is right
    >>> check(dL_da=..., dL_db=6)
    · dL_da  write your answer instead of the dots
    · dL_db  6 is not right. That is b itself. Look at the step L = b²: its local derivative is 2b.
    """
    questions = questions_of(lesson)

    def check(**answers: object) -> Marks:
        """Compare answers, given by name, with the right ones."""
        for name in answers:
            if name not in questions:
                near = difflib.get_close_matches(name, questions, n=1)
                advice = f"did you mean {near[0]}?" if near else f"it asks for {', '.join(questions)}"
                raise ValueError(f"this lesson has no question {name!r}: {advice}")
        return Marks({name: questions[name].verdict(answer) for name, answer in answers.items()})

    return check


@functools.cache
def questions_of(lesson: str) -> dict[str, Question]:
    """The questions of a lesson."""
    file = resources.files(__package__).joinpath(f"{lesson}.toml")
    if not (lesson.isidentifier() and file.is_file()):
        raise ValueError(f"there are no questions for a lesson {lesson!r}")
    return {name: read_question(**row) for name, row in tomllib.loads(file.read_text(encoding="utf-8")).items()}


def read_question(right: Any, hint: str, wrong: Any = ()) -> Question:
    """A question as its text file has it; ``wrong`` are pairs of a mistake and its comment."""
    return Question(read_value(right), hint, [(read_value(mistake), comment) for mistake, comment in wrong])


def read_value(entry: object) -> Any:
    """An answer as its text file has it.

    >>> read_value([2, 1]), read_value({"set": ["a"]}), read_value({"between": [1, 2]})(1.5)
    ((2, 1), {'a'}, True)
    """
    if isinstance(entry, dict):
        ((kind, content),) = entry.items()
        return KINDS[kind](content)
    return tuple([read_value(part) for part in entry]) if isinstance(entry, list) else entry


def progress(steps: Iterable[T], words: str) -> Iterable[T]:
    """``steps``, with a progress bar if tqdm is installed. ``words`` are printed before it.

    >>> list(progress(range(3), "training"))
    [0, 1, 2]
    """
    return show_bar(steps, plain=True, desc=words)
