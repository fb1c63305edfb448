"""``fit``: the training loop that everybody writes, once. It can be left out: :func:`train_on` is all there is to it.

for each epoch:                             every example once, in a new order
    for each batch:                         some examples at a time
        loss(model(x), y).backward()        which way is down?
        optimiser.step()                    go there
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..backends.registry import array_type
from ..base.columns import aligned
from ..base.errors import AnomalyError, InputError, LostGradientError
from ..base.lazy import show_bar
from ..base.modes import modes, no_grad
from ..base.pytree import tree_map
from ..forward.writing import overwrite
from ..nodes.nodes import Array, value_of
from ..optim import Optimiser, Schedule
from ..optim.base import OPTIMISER, check_kind, whole_numbers
from ..parallel.engines import data_parallel
from ..transforms.evaluation import proved_call
from .layers import BatchNorm
from .live import LiveDisplay, layer_sizes
from .module import Module, explain_missing_rng, functional_call, generator, in_evaluation, numbers_of, shape_is
from .plots import line_chart, plot_loss, sparkline

Measure = Callable[[Array, Array], Any]
MEASURE = "a function of predictions and targets, such as nn.mse_loss"


class History:
    """The measures of a training run, epoch by epoch: ``history["loss"]`` is a list, ``history.plot()`` a picture.

    It shows itself: at the end of a notebook's cell as curves, printed as a line for each measure.

    >>> history = History()
    >>> history.add({"loss": 0.5, "val_loss": 0.6})
    >>> history.add({"loss": 0.25, "val_loss": 0.4})
    >>> history["loss"]
    [0.5, 0.25]
    >>> history
    2 epochs: loss 0.25, val_loss 0.4
    >>> print(history)
    2 epochs
    loss      █▁  0.5 -> 0.25
    val_loss  █▁  0.6 -> 0.4
    """

    def __init__(self) -> None:
        self.epochs: list[dict[str, float]] = []
        self.best = -1  # the epoch whose parameters the model has now; -1: those that it had before the first
        self.gradients: list[dict[str, float]] = []  # their sizes by layer, under fit(..., view=True)

    def add(self, measured: dict[str, float]) -> None:
        """One more epoch."""
        self.epochs.append(measured)
        self.best = len(self.epochs) - 1

    def __getitem__(self, name: str) -> list[float]:
        return [measured[name] for measured in self.epochs]

    def __len__(self) -> int:
        return len(self.epochs)

    def __repr__(self) -> str:
        last = self.epochs[-1] if self.epochs else {}
        return f"{len(self)} epochs: " + ", ".join([f"{name} {value:.4g}" for name, value in last.items()])

    def __str__(self) -> str:
        rows = [(name, sparkline(x), f"{x[0]:.4g} -> {x[-1]:.4g}") for name, x in self.lines().items()]
        return "\n".join([f"{len(self)} epochs", *aligned(rows)])

    def _repr_html_(self) -> str | None:
        """What notebooks show; under ``af.options.static``, and before the first epoch, the text."""
        return line_chart(self.lines()) if self.epochs and not modes().static else None

    def lines(self) -> dict[str, list[float]]:
        """Each measure over the epochs, by name."""
        return {name: self[name] for name in (self.epochs[0] if self.epochs else ())}

    def plot(self, axes: object = None) -> Any:
        """Every measure over the epochs, with matplotlib; returns the axes."""
        return plot_loss(self, ax=axes)


@explain_missing_rng
def fit(
    model: Callable[[Array], Array], x: Array, y: Array, *, loss: Measure, optimiser: Optimiser,
    rng: np.random.Generator, epochs: int = 10, batch_size: int = 32, validation: tuple[Array, Array] | None = None,
    metrics: dict[str, Measure] | None = None, schedule: Schedule | None = None, patience: int | None = None,
    progress: bool = True, view: bool = False, workers: object = None, chunks: int | None = None,
) -> History:  # fmt: skip
    """Train ``model`` on examples x (n, ...) and targets y (n, ...); returns the :class:`History`.

    loss, metrics : functions of (predictions, targets), the first as ``model`` returns it, an array or a container of
        arrays; the loss a mean over the batch, metrics by name.
    rng : generator for the order of the examples.
    validation : (x, y) that are not used for training; losses and metrics on them, after each epoch, are ``val_...``.
    schedule : makes a step after each epoch.
    patience : stop when the validation loss (or, without validation, the loss) has not become smaller for this many
        epochs, and go back to the best parameters.
    progress : show a progress bar, if tqdm is installed.
    view : instead of the bar, draw during the training: losses, the size of each layer's gradients, and for points of
        the plane (n, 2) with classes (n,) the boundary between these. In a notebook it is a figure, in a terminal
        lines.
    workers, chunks : compute each batch in ``chunks`` parts (16 if only workers are given), by these workers; both as
        in :func:`autoflow.data_parallel`. The loss must be a mean over all examples, which with ``ignore_index`` it is
        not. Layers that look at the whole batch (BatchNorm) or draw random numbers (Dropout) are refused. Metrics are
        then measured on the validation data only.

    Raises InputError for data that are empty, of different lengths or not finite, and for metrics called as another
    measure; TypeError if a loss or a metric is not one number; AnomalyError if the loss becomes NaN or infinite, with
    the parameters as they were before that batch (running statistics have seen it); LostGradientError if the loss is a
    plain number, or if model or loss read numbers without asking the node: for the first batch of each size and kind
    they run once more, without a trace, and find other numbers there (``af.options.prove``).

    >>> from autoflow import nn, optim
    >>> from autoflow.train import fit
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2))
    >>> y = (x[:, 0] > x[:, 1]).astype(int)
    >>> model = nn.Linear(2, 2, rng=rng)
    >>> history = fit(model, x, y, loss=nn.cross_entropy, optimiser=optim.Adam(model, lr=0.1), rng=rng,
    ...               metrics={"accuracy": accuracy}, progress=False)
    >>> history["accuracy"][-1] > 0.95
    True
    """
    x, y = check_finite("the data", x, y)
    if validation is not None and not (isinstance(validation, (tuple, list)) and len(validation) == 2):
        raise InputError("fit: validation must be a pair of arrays, (x, y)")
    held_out = None if validation is None else check_finite("the validation data", *validation)
    whole_numbers("fit", epochs=epochs, batch_size=batch_size, patience=1 if patience is None else patience)
    generator("fit", rng)
    check_kind("fit", "__call__", "a Module or another function of x", model=model)
    check_kind("fit", "__call__", MEASURE, loss=loss)
    check_kind("fit", "step", OPTIMISER, optimiser=optimiser)
    check_kind("fit", "step", "an optim.Schedule, or None", schedule=optimiser if schedule is None else schedule)
    metrics, history, best = checked_metrics(metrics), History(), Best(model, optimiser)
    compute, training_metrics = in_one_piece(model, loss, optimiser), metrics
    if workers is not None or chunks is not None:
        compute, training_metrics = in_parts(model, loss, workers, 16 if chunks is None else chunks), {}
        if metrics and held_out is None:
            raise InputError("fit: with workers or chunks metrics are measured on validation=(x, y) alone: give it")
    live, turns = LiveDisplay() if view else None, range(epochs)
    bar: Any = show_bar(turns, plain=True, desc="epochs", file=sys.stderr) if progress and not view else turns
    for _ in bar:
        switch(model, training=True)
        rows = [train_on(compute, x[b], y[b], optimiser, training_metrics) for b in batches(len(x), batch_size, rng)]
        measured = mean_of(rows)
        if held_out is not None:
            measured |= {f"val_{name}": v for name, v in evaluate(model, *held_out, loss, metrics, batch_size).items()}
        history.add(measured)
        if hasattr(bar, "set_postfix"):
            bar.set_postfix({name: f"{value:.4g}" for name, value in measured.items()})
        if live is not None:
            history.gradients.append(layer_sizes(model, optimiser.parameters))
            live.draw(history.lines(), history.gradients, (model, x, y))
        if schedule is not None:
            schedule.step()
        if patience is not None and best.epochs_waited(measured, len(history) - 1) >= patience:
            break
    if patience is not None:
        history.best = best.restore()
    switch(model, training=False)
    if live is not None:
        live.draw(history.lines(), history.gradients, (model, x, y), last=True)
    return history


Compute = Callable[[Array, Array], tuple[Any, Any]]  # of a batch: the loss, and the predictions if they are here


def in_one_piece(model: Any, loss: Measure, optimiser: Optimiser) -> Compute:
    """The loss of a batch, proved as by a transform."""

    def loss_of_batch(x: Array, y: Array) -> tuple[Any, Any]:
        predictions = model(x)
        return loss(predictions, y), predictions

    memory: list[Any] = []  # of the proof
    return lambda *batch: proved_call(loss_of_batch, batch, optimiser.parameters, memory)


def in_parts(model: object, loss: Measure, workers: object, chunks: int) -> Compute:
    """The same by ``af.data_parallel``. Raises TypeError or InputError for a model that cannot be cut."""
    if not isinstance(model, Module):
        raise TypeError(f"fit(workers=, chunks=) trains an nn.Module, whose parameters it can send, not {model!r:.60}")
    whole = [type(m).__name__ for m in model.modules() if isinstance(m, BatchNorm)]
    if whole:
        raise InputError(f"{whole[0]} looks at the whole batch: fit without workers and chunks, or with LayerNorm")
    total = data_parallel(partial(loss_of_model, model, loss), over=(1, 2), workers=workers, chunks=chunks)
    return lambda x, y: (total(model.named_parameters(), x, y), None)


def loss_of_model(model: Module, loss: Measure, parameters: dict[str, Any], x: Array, y: Array) -> Any:
    """As a function of the parameters."""
    return loss(functional_call(model, parameters, x), y)


def train_on(
    compute: Compute, x: Array, y: Array, optimiser: Optimiser, metrics: dict[str, Measure]
) -> dict[str, float]:  # fmt: skip
    """One batch: forward, backward, one step. Returns the measures, and the number of examples."""
    error, predictions = compute(x, y)
    measured = {"loss": number_of("loss", error)}
    if not math.isfinite(measured["loss"]):
        raise AnomalyError(
            f"the loss of a batch is {measured['loss']}; the parameters are as they were before it. Lower the "
            f"learning rate of {optimiser!r}, or look for log(0), 0/0 and overflows in the model (af.detect_anomaly() "
            f"finds them)."
        )
    if not hasattr(error, "backward"):
        raise LostGradientError("the loss is a plain number: compute it without float(...), .item() and .value")
    optimiser.zero_grad()
    error.backward()
    optimiser.step()
    predictions = tree_map(value_of, predictions)
    return measured | {name: number_of(name, f(predictions, y)) for name, f in metrics.items()} | {"n": len(x)}


def number_of(name: str, x: object) -> float:
    """The one number that a loss or a metric has returned."""
    try:
        return float(numbers_of(x).item())
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} has to be one number, as np.mean returns it, not {x!r:.60}") from error


def checked_metrics(metrics: dict[str, Measure] | None) -> dict[str, Measure]:
    """The metrics, if none is called as another measure is, which it would replace."""
    metrics = metrics or {}
    check_kind("fit, evaluate", "items", 'functions by name, as in {"accuracy": accuracy}', metrics=metrics)
    check_kind("metrics", "__call__", MEASURE, **{str(name): f for name, f in metrics.items()})
    if clashes := {"loss", "val_loss", "n", *[f"val_{name}" for name in metrics]} & {*metrics}:
        raise InputError(f"a metric cannot be called {min(clashes)!r}: another measure has that name")
    return metrics


@no_grad
def evaluate(
    model: Any, x: Array, y: Array, loss: Measure, metrics: dict[str, Measure] | None = None, batch_size: int = 256
) -> dict[str, float]:  # fmt: skip
    """Loss and metrics on examples, without training: ``{"loss": ..., "accuracy": ...}``. A Module, and those that a
    function reaches, run in eval mode, and afterwards are in the mode that they were in."""
    x, y = check_data("evaluate: the data", x, y)
    check_kind("evaluate", "__call__", MEASURE, loss=loss)
    rows, measures = [], {"loss": loss, **checked_metrics(metrics)}
    with in_evaluation(model):
        for b in batches(len(x), batch_size):
            predictions = tree_map(value_of, model(x[b]))
            rows.append({name: number_of(name, f(predictions, y[b])) for name, f in measures.items()} | {"n": len(b)})
    return mean_of(rows)


def accuracy(scores: Array, labels: Array) -> float:
    """The share of examples whose largest score is that of their class. Shapes: scores (n, classes), labels (n,); or
    (n, classes, ...) and (n, ...). With one score for two classes: ``lambda s, y: np.mean((s > 0) == y)``.

    >>> accuracy(np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([1, 1]))
    0.5
    """
    scores, labels = numbers_of(scores), numbers_of(labels)
    shape_is("accuracy", scores, "n", "classes", "...", what="scores")
    if scores.shape[1] < 2:
        raise InputError(f"accuracy compares the scores of several classes, and there is one: {scores.shape}")
    largest = np.argmax(scores, axis=1)
    shape_is("accuracy", labels, *largest.shape, what="labels")
    return float(np.mean(largest == labels))


class Best:
    """What training had made of the model in the best epoch so far."""

    def __init__(self, model: object, optimiser: Optimiser) -> None:
        self.model, self.optimiser = model, optimiser
        self.epoch, self.lowest, self.kept = -1, np.inf, self.copies()

    def arrays(self) -> list[Array]:
        """Everything that training changes: parameters, and the buffers of Modules."""
        own = [x for part in Module._all_in(self.model) for x in part._state().values()]
        return list({id(x): x for x in map(value_of, [*own, *self.optimiser.parameters])}.values())

    def copies(self) -> list[Array]:
        """The numbers in them now."""
        return [x.copy() for x in self.arrays()]

    def epochs_waited(self, measured: dict[str, float], epoch: int) -> int:
        """For how many epochs has it not become better?"""
        error = measured.get("val_loss", measured["loss"])
        if error < self.lowest:
            self.epoch, self.lowest, self.kept = epoch, error, self.copies()
        return epoch - self.epoch

    def restore(self) -> int:
        """Go back to the best epoch, and say which it was."""
        overwrite(self.arrays(), self.kept)
        return self.epoch


def batches(n: int, size: int, rng: np.random.Generator | None = None) -> list[Array]:
    """The numbers 0 ... n − 1 in parts of at most ``size``, all about as long: none is left with one example.

    >>> [b.tolist() for b in batches(5, 2)]
    [[0, 1], [2, 3], [4]]
    """
    order = np.arange(n) if rng is None else rng.permutation(n)
    return np.array_split(order, -(-n // size))


def mean_of(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean over all examples of measures taken on batches of ``n``."""
    n = sum([row["n"] for row in rows])
    return {name: math.fsum([row[name] * row["n"] for row in rows]) / n for name in rows[0] if name != "n"}


def check_data(who: str, x: object, y: object) -> tuple[Array, Array]:
    """Examples and targets as plain arrays, equally many of each, at least one. (A Series of pandas is read by the
    labels of its rows, which may be in another order.)"""
    arguments, (x, y) = (x, y), [z if array_type(z) is not None else np.asarray(z) for z in map(numbers_of, (x, y))]
    if rowless := [type(v).__name__ for v, z in zip(arguments, (x, y), strict=True) if not z.ndim]:
        raise InputError(f"{who} must be two arrays, x and y, with a row for each example; one is a {rowless[0]}")
    if len(x) != len(y):
        raise InputError(f"{who} has inputs of shape {x.shape} and targets of shape {y.shape}: not as many")
    if not len(x):
        raise InputError(f"{who} is empty")
    return x, y


def check_finite(who: str, x: Any, y: Any) -> tuple[Array, Array]:
    """The same, and all of them finite."""
    x, y = check_data(f"fit: {who}", x, y)
    for what, array in (("input", x), ("target", y)):
        if array.dtype.kind in "fc":
            bad = ~np.isfinite(array.reshape(len(array), -1)).all(axis=1)
            if bad.any():
                raise InputError(
                    f"fit: {who} contains NaN or infinity in {bad.sum()} of {len(x)} examples, first in {what} "
                    f"{int(np.argmax(bad))}"
                )
    return x, y


def switch(model: object, *, training: bool) -> None:
    """Tell a Module whether it is being trained; plain functions have no such mode."""
    if hasattr(model, "train"):
        model.train(training)
