"""fit: it learns, stops in time, refuses bad data, and leaves the parameters alone when something goes wrong."""

import functools
import importlib.util
import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import autoflow as af
from autoflow import nn, optim
from autoflow.errors import AnomalyError, LostGradientError, UnprovedWarning
from autoflow.nn.module import InputError
from autoflow.train import History, accuracy, batches, evaluate, fit


def blobs(n=300, seed=0):
    """Three clouds in the plane."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(0, 0.5, (n, 2)) + 2 * np.eye(3)[y][:, :2], y


def setup(**options):
    rng = np.random.default_rng(1)
    model = nn.Sequential(nn.Linear(2, 16, rng=rng), nn.BatchNorm(16), nn.relu, nn.Linear(16, 3, rng=rng))
    settings = {"loss": nn.cross_entropy, "optimiser": optim.Adam(model, lr=0.01), "rng": rng, "progress": False}
    return model, settings | options


def test_it_learns():
    x, y = blobs()
    model, settings = setup()
    history = fit(model, x, y, validation=blobs(seed=1), metrics={"accuracy": accuracy}, epochs=10, **settings)
    assert list(history.epochs[0]) == ["loss", "accuracy", "val_loss", "val_accuracy"]
    assert len(history) == 10
    assert history.best == 9
    assert history["val_accuracy"][-1] > 0.93
    assert history["loss"][-1] < 0.5 * history["loss"][0]
    assert not model.training
    again = evaluate(model, *blobs(seed=1), nn.cross_entropy, {"accuracy": accuracy})
    assert again["loss"] == pytest.approx(history["val_loss"][-1])


def test_any_function_is_a_model():
    w = af.Variable([0.0, 0.0], "w")
    x = np.random.default_rng(0).normal(size=(64, 2))
    history = fit(lambda x: x @ w, x, x @ np.array([1.0, -2.0]), loss=nn.mse_loss, optimiser=optim.SGD(w, lr=0.2),
                  rng=np.random.default_rng(0), patience=3, epochs=50, progress=False)  # fmt: skip
    np.testing.assert_allclose(w.value, [1, -2], atol=1e-3)
    assert history.best >= len(history) - 4


def test_patience_goes_back_to_the_best():
    x, y = blobs(40)
    noise = np.random.default_rng(5).integers(0, 3, 40)
    model, settings = setup()
    settings["optimiser"].lr = 0.2
    history = fit(model, x, noise, validation=(x, y), patience=3, epochs=200, **settings)
    assert len(history) < 200
    assert len(history) - 1 - history.best == 3
    assert history["val_loss"][history.best] == min(history["val_loss"])
    assert evaluate(model, x, y, nn.cross_entropy)["loss"] == pytest.approx(min(history["val_loss"]))


def test_schedules_step_once_an_epoch_and_a_class_may_be_a_function():
    model, settings = setup()
    schedule = optim.Schedule(settings["optimiser"], optim.step_decay(2, 0.5))
    fit(model, *blobs(40), epochs=4, schedule=schedule, **settings)
    assert settings["optimiser"].lr == pytest.approx(0.0025)
    half = type("Half", (float,), {"__new__": lambda cls, *args: float.__new__(cls, 0.5)})
    assert evaluate(model, *blobs(), loss=half, metrics={"half": half})["half"] == 0.5


def test_progress(capsys, monkeypatch):
    x, y = blobs(40)
    model, settings = setup(progress=True)
    if importlib.util.find_spec("tqdm") is not None:
        assert len(fit(model, x, y, epochs=2, **settings)) == 2
        assert "loss=" in capsys.readouterr().err
        stops = settings | {"loss": lambda z, y: nn.cross_entropy(z, y) * (1 if isinstance(z, af.Node) else np.nan)}
        assert len(fit(model, x, y, validation=(x, y), patience=1, **stops)) == 1
        assert "val_loss=nan" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.std", None)
    assert len(fit(model, x, y, epochs=2, **settings)) == 2
    assert capsys.readouterr().err == ""


def test_the_history_plots_itself():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.subplots()
    history = History()
    assert history.plot(axes) is axes
    assert not axes.lines
    history.add({"loss": 1.0, "val_loss": 2.0})
    history.add({"loss": 0.5, "val_loss": 1.0})
    history.plot(axes)
    drawn = {line.get_label(): np.array(line.get_data()).tolist() for line in axes.lines}
    assert drawn == {"loss": [[1, 2], [1.0, 0.5]], "val_loss": [[1, 2], [2.0, 1.0]]}
    assert axes.get_xlabel() == "epoch"


def test_batches_are_even():
    assert [len(b) for b in batches(65, 32)] == [22, 22, 21]
    shuffled = batches(65, 32, np.random.default_rng(0))
    assert sorted(np.concatenate(shuffled)) == list(range(65))


NAN = np.array([[0.0, 1.0], [np.nan, 1.0]])


@pytest.mark.parametrize(("message", "x", "y", "options"), [
    ("not as many", np.zeros((3, 2)), np.zeros(2, int), {}),
    ("the data is empty", np.zeros((0, 2)), np.zeros(0, int), {}),
    ("NaN or infinity in 1 of 2 examples, first in input 1", NAN, np.zeros(2, int), {}),
    ("first in target 1", np.zeros((2, 2)), NAN, {}),
    ("the validation data contains NaN", np.zeros((2, 2)), np.zeros(2, int), {"validation": (NAN, np.zeros(2))}),
    *[("one is a " + type(x).__name__, x, np.zeros(2, int), {}) for x in ({"a": NAN}, iter(NAN), None, {1.0}, 2.0)],
    *[(f"{name} must be a whole number of at least 1, not {number!r}", NAN[:1], np.zeros(1, int), {name: number})
      for name, numbers in {"epochs": (0, 2.0, None), "batch_size": (0, "8"), "patience": (0, 1.5)}.items()
      for number in numbers],
    *[("a pair of arrays", NAN[:1], np.zeros(1, int), {"validation": z}) for z in (0.2, {}, NAN, (NAN,) * 3)],
    *[(f"cannot be called '{name}'", NAN[:1], np.zeros(1, int), {"metrics": {"a": accuracy, name: accuracy}})
      for name in ("loss", "val_loss", "n", "val_a")],
])  # fmt: skip
def test_bad_data_change_nothing(message, x, y, options):
    model, settings = setup(**options)
    before = model.state_dict()
    with pytest.raises(InputError, match=message):
        fit(model, x, y, **settings)
    assert all(np.array_equal(array, before[name]) for name, array in model.state_dict().items())


KINDS = {
    "loss": ["mse", None, nn.Module], "optimiser": ["adam", None, optim.Adam], "schedule": ["cosine", 0.9],
    "metrics": [["accuracy"], accuracy, {"a": "accuracy"}, {1: None}], "model": ["mlp", None, nn.Linear],
}  # fmt: skip


@pytest.mark.parametrize(("name", "given"), [(name, x) for name, rows in KINDS.items() for x in rows])
def test_another_kind_of_thing_is_refused_by_name(name, given):
    model, settings = setup(**{name: given})
    asked = f"{name if type(given) is not dict else [*given][0]} must be .*, not "  # noqa: RUF015
    with pytest.raises(TypeError, match=asked):
        fit(settings.pop("model", model), *blobs(), **settings)
    if name == "model":
        with pytest.raises(TypeError, match=r"Sequential: part 0 must be .*, not "):
            nn.Sequential(given)
    if name in ("loss", "metrics"):
        with pytest.raises(TypeError, match=asked):
            evaluate(model, *blobs(), **{"loss": nn.cross_entropy, name: given})


@pytest.mark.parametrize(("loss", "error", "message"), [
    (lambda z, y: (z - 1) ** 2, TypeError, "loss has to be one number"),
    (lambda z, y: (np.mean(z), 1), TypeError, "loss has to be one number"),
    (lambda z, y: None, TypeError, "loss has to be one number.*None"),
    (lambda z, y: float(np.mean(z)), LostGradientError, "plain number"),
    (lambda z, y: np.mean(z).value, LostGradientError, "plain number"),
    (nn.cross_entropy, TypeError, "^m has to be one number"),
])  # fmt: skip
def test_a_loss_and_a_metric_are_one_number(loss, error, message):
    model, settings = setup(metrics={"m": lambda z, y: z})
    with pytest.raises(error, match=message):
        fit(model, *blobs(6), **settings | {"loss": loss})


@pytest.mark.parametrize(("factor", "wrap", "message"), [
    (np.nan, lambda sgd: sgd, "the loss of a batch is nan; the parameters are as they were"),
    (np.inf, lambda sgd: optim.Accumulation(sgd, every=2), r"is inf.*SGD\(1 parameters, lr=0.5\), every=2"),
])  # fmt: skip
def test_a_loss_that_is_no_number_changes_nothing(factor, wrap, message):
    w = af.Variable(2.0, "w")
    with pytest.raises(AnomalyError, match=message):
        fit(lambda x: x * w, np.ones(4), np.ones(4), loss=lambda z, y: z.sum() * factor, rng=np.random.default_rng(0),
            optimiser=wrap(optim.SGD(w, lr=0.5)), progress=False)  # fmt: skip
    assert w.value == 2
    assert w.grad is None


def test_labels_out_of_range_change_nothing():
    model, settings = setup()
    before = [p.value.copy() for p in model.parameters()]
    with pytest.raises(InputError, match="label 3 is not one of the 3 classes"):
        fit(model, np.zeros((4, 2)), np.full(4, 3), **settings)
    assert all(np.array_equal(p.value, old) for p, old in zip(model.parameters(), before, strict=True))
    with pytest.raises(TypeError, match="fit needs rng="):
        fit(model, np.zeros((2, 2)), np.zeros(2, int), **settings | {"rng": 3})


def test_where_no_epoch_is_better_there_is_no_best():
    x, y = blobs(40)
    model, settings = setup()
    before = model.state_dict()
    settings["loss"] = lambda z, y: nn.cross_entropy(z, y) * (1 if isinstance(z, af.Node) else np.nan)
    history = fit(model, x, y, validation=(x, y), patience=3, epochs=20, **settings)
    assert (len(history), history.best) == (3, -1)
    assert all(np.array_equal(array, before[name]) for name, array in model.state_dict().items())


@pytest.mark.parametrize("model", [nn.BatchNorm(2), nn.Sequential(nn.BatchNorm(2)), af.watch(nn.BatchNorm(2))])
def test_evaluating_leaves_the_modes(model):
    x, state = np.arange(8.0).reshape(4, 2), model.state_dict()
    assert evaluate(model, x, x, nn.mse_loss)["loss"] < 1e-8
    with pytest.raises(InputError):
        evaluate(model, x[:, :1], x, nn.mse_loss)
    assert all(part.training for part in model.modules())
    assert all(np.array_equal(state[name], x) for name, x in model.state_dict().items())
    model.eval()
    evaluate(model, x, x, nn.mse_loss)
    assert not any(part.training for part in model.modules())


def test_batches_count_by_their_examples():
    """Whatever the first axis of the predictions is."""
    assert evaluate(np.transpose, np.zeros((5, 3)), np.arange(5.0), lambda z, y: np.mean(y), batch_size=2)["loss"] == 2


@pytest.mark.parametrize("targets", [(nn.cross_entropy, "kind", 2), (nn.mse_loss, "size", 1)])
@pytest.mark.parametrize("shuffled", ["x", "y", "xy"])
def test_rows_of_tables_are_in_the_order_in_which_they_stand(shuffled, targets):
    """Not in that of their labels, by which a Series is read."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    loss, column, outputs = targets
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"]).sample(frac=1)
    table["kind"], table["size"] = (table["a"] > 0).astype(int), table["a"] - table["b"]
    arrays = {"x": table[["a", "b"]].to_numpy(), "y": table[column].to_numpy()}
    tables = {"x": table[["a", "b"]], "y": table[column]}
    found = []
    for data in (arrays, arrays | {name: tables[name] for name in shuffled}):
        model = nn.Linear(2, outputs, rng=np.random.default_rng(0))
        measure = loss if outputs > 1 else lambda z, y: nn.mse_loss(z[:, 0], y)
        history = fit(model, **data, loss=measure, validation=(data["x"], data["y"]), epochs=3, batch_size=8,
                      optimiser=optim.Adam(model, lr=0.1), rng=np.random.default_rng(0), progress=False)  # fmt: skip
        found.append((history.epochs, evaluate(model, **data, loss=measure, batch_size=8)))
    assert found[0] == found[1]


@pytest.mark.parametrize(("who", "arguments"), [
    *[(evaluate, (np.abs, np.ones(m), np.ones(n), nn.mse_loss)) for m, n in ((4, 5), (5, 4), (0, 0))],
    *[(accuracy, pair) for pair in (
        (np.eye(3), np.arange(3)[:, None]), (np.eye(3), np.eye(3)), (np.ones((4, 1)), np.ones(4)),
        (np.ones(4), np.ones(4)), (np.ones((4, 2, 5)), np.ones(4)),
    )],
])  # fmt: skip
def test_each_example_needs_a_target(who, arguments):
    with pytest.raises(InputError, match=who.__name__):
        who(*arguments)


def test_accuracy_of_sequences():
    scores = np.random.default_rng(0).normal(size=(4, 3, 5))
    assert accuracy(scores, scores.argmax(axis=1)) == 1


def test_digits():
    """A small network reads 97 % of the digits that it has not seen."""
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    images, labels = datasets.load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(images))
    test, train = order[:360], order[360:]
    sizes = {"rng": rng, "dtype": np.float32}
    model = nn.Sequential(nn.Linear(64, 64, **sizes), nn.relu, nn.Linear(64, 10, **sizes))
    fit(model, images[train], labels[train], loss=nn.cross_entropy, optimiser=optim.AdamW(model, lr=0.005), epochs=20,
        rng=rng, progress=False)  # fmt: skip
    assert {p.dtype for p in model.parameters()} == {np.dtype(np.float32)}
    with af.no_grad():
        assert accuracy(model(images[test]), labels[test]) >= 0.97


# -- in parts ----------------------------------------------------------------------------------------------------------


def plain_network():
    rng = np.random.default_rng(1)
    return nn.Sequential(nn.Linear(2, 16, rng=rng), nn.relu, nn.Linear(16, 3, rng=rng))


def trained(epochs=2, model=None, optimiser=None, rng=None, **how):
    """The state after some epochs of 60 examples."""
    model = plain_network() if model is None else model
    optimiser = optim.Adam(model, lr=0.01) if optimiser is None else optimiser
    rng = np.random.default_rng(2) if rng is None else rng
    history = fit(model, *blobs(60), loss=nn.cross_entropy, optimiser=optimiser, rng=rng, epochs=epochs, batch_size=20,
                  progress=False, **how)  # fmt: skip
    return model, optimiser, rng, history


def bits(model):
    return {path: x.tobytes() for path, x in model.state_dict().items()}


def test_training_in_parts_is_training_in_one_piece():
    whole, *_, history = trained()
    parts, *_, others = trained(chunks=3)
    for path, x in whole.state_dict().items():
        np.testing.assert_allclose(parts.state_dict()[path], x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(others["loss"], history["loss"], rtol=1e-12)


def test_workers_do_not_change_the_bits():
    with ThreadPoolExecutor(2) as pool:
        there = trained(workers=pool, chunks=3)[0]
    assert bits(there) == bits(trained(chunks=3)[0])
    assert bits(trained(workers=map)[0]) == bits(trained(chunks=16)[0])


def test_training_goes_on_from_files_with_the_same_bits(tmp_path):
    whole = trained(epochs=4, chunks=3)[0]
    model, optimiser, rng, _ = trained(epochs=2, chunks=3)
    model.save(tmp_path / "model.npz")
    optimiser.save(tmp_path / "optimiser.npz")
    rng, model = pickle.loads(pickle.dumps(rng)), plain_network().load(tmp_path / "model.npz")
    optimiser = optim.Adam(model, lr=0.01)
    optimiser.load(tmp_path / "optimiser.npz")
    assert bits(trained(model=model, optimiser=optimiser, rng=rng, epochs=2, chunks=3)[0]) == bits(whole)


def test_early_stopping_and_metrics_in_parts():
    *_, history = trained(epochs=30, chunks=3, patience=1, validation=blobs(60, seed=1), metrics={"accuracy": accuracy})
    assert list(history.epochs[0]) == ["loss", "val_loss", "val_accuracy"]
    assert history["val_accuracy"][-1] > history["val_accuracy"][0] - 0.1


def test_what_cannot_be_cut_is_refused():
    model, settings = setup(chunks=3)
    with pytest.raises(InputError, match=r"BatchNorm looks at the whole batch.*LayerNorm"):
        fit(model, *blobs(60), **settings)
    with pytest.raises(InputError, match="metrics are measured on validation"):
        trained(chunks=3, metrics={"accuracy": accuracy})
    with pytest.raises(TypeError, match=r"fit\(workers=, chunks=\) trains an nn.Module"):
        fit(lambda x: x, *blobs(60), **settings)
    with pytest.raises(InputError, match="draws from a random generator"):
        trained(model=nn.Sequential(plain_network(), nn.Dropout(0.5, rng=np.random.default_rng(0))), chunks=3)


def test_predictions_in_containers():
    x, y = blobs(60)
    net, settings = setup()
    settings |= {"loss": lambda p, y: nn.cross_entropy(p["scores"], y) + 0 * p["more"][0].sum(), "epochs": 2}

    class Both(nn.Module):
        def __init__(self):
            self.net = net

        def forward(self, x):
            z = self.net(x)
            return {"scores": z, "more": (z * z, "words")}

    metrics = {"accuracy": lambda p, y: accuracy(p["scores"], y), "words": lambda p, y: len(p["more"][1])}
    history = fit(Both(), x, y, validation=(x, y), metrics=metrics, **settings)
    plain, settings = setup()
    right = fit(plain, x, y, validation=(x, y), metrics={"accuracy": accuracy}, epochs=2, **settings)
    assert all(history[name] == right[name] for name in ("loss", "val_loss", "accuracy", "val_accuracy"))
    assert history["val_words"] == [5.0, 5.0]


@pytest.mark.parametrize("wrap", [
    lambda net: lambda x: net(x), lambda net: functools.partial(net.forward), lambda net: [net][0].__call__,
])  # fmt: skip
def test_a_function_of_a_module_is_validated_in_evaluation(wrap):
    """Its running means do not see the validation data, and go back to the best epoch with the parameters."""
    found = []
    for how in (lambda net: net, wrap):
        model, settings = setup()
        model.layers.insert(2, nn.Dropout(0.3, rng=settings["rng"]))
        far = (blobs(seed=1)[0] + 100, blobs(seed=1)[1])
        history = fit(how(model), *blobs(), validation=far, patience=2, epochs=6, **settings)
        assert max(np.abs(model.layers[1].running_mean)) < 10
        assert history.best < 5
        found.append((history["val_loss"], bits(model)))
    assert found[0] == found[1]


PAST_US = {
    "the model": (lambda net: lambda x: net(x) * np.asarray(net(x)), nn.cross_entropy),
    "the loss": (lambda net: net, lambda p, y: nn.cross_entropy(p, y) + np.sum(np.full(3, p[0, 0] * 1.0))),
    "a parameter": (lambda net: net, lambda p, y: nn.cross_entropy(p, y) + np.sum(np.asarray(PARAMETERS[0]) ** 2)),
    "another way": (lambda net: net, lambda p, y: nn.cross_entropy(p, y) * (
        np.sum(np.sin(p) * p) if len(y) == 20 else np.sum(p) * np.sum(np.asarray(np.sin(p)))
    )),
}  # fmt: skip
PARAMETERS = []


@pytest.mark.parametrize("name", PAST_US)
def test_numbers_that_are_read_past_us_are_found(name):
    """Under the model as under a transform; parameters are as the last whole step has left them."""
    net, states = plain_network(), []

    class Watched(optim.SGD):
        def step(self):
            super().step()
            states.append(bits(net))

    wrap, loss = PAST_US[name]
    optimiser = Watched(net, lr=1e-3)
    PARAMETERS[:], states[:] = optimiser.parameters, [bits(net)]
    x, y = blobs(59)
    with pytest.raises(LostGradientError, match="numbers of nodes reach the result"):
        fit(wrap(net), x, y, loss=loss, optimiser=optimiser, rng=np.random.default_rng(2), batch_size=20,
            progress=False)  # fmt: skip
    assert bits(net) == states[-1]
    assert len(states) == (3 if name == "another way" else 1)


def drawing(rng):
    return lambda p, y: nn.cross_entropy(p * rng.normal(1, 0.1, size=p.shape), y)


def taking(numbers):
    return lambda p, y: nn.cross_entropy(p * next(numbers), y)


LOSSES = {
    "cross_entropy": lambda: nn.cross_entropy,
    "checkpoint": lambda: lambda p, y: af.checkpoint(lambda p: nn.cross_entropy(np.tanh(p), y))(p),
    "a generator": lambda: drawing(np.random.default_rng(3)),
    "an iterator": lambda: taking(iter(np.linspace(1, 2, 99))),
}


@pytest.mark.parametrize("prove", ["first", "always"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_proof_leaves_no_trace(name, prove, capsys):
    """Hooks, listeners, running statistics, dropout, generators, iterators and live pictures: all as without one."""
    found = []
    for how in ("never", prove):
        af.reset()
        model, settings = setup(loss=LOSSES[name](), batch_size=20, epochs=2, view=True)
        model.layers.insert(2, nn.Dropout(0.3, rng=np.random.default_rng(4)))
        sent, recorded = [], []
        model.layers[0].weight.register_hook(lambda g, sent=sent: (sent.append(g.tobytes()), g * 0.5)[1])
        watch = af.on_operation(lambda z, seen=recorded: seen.append(z.name))
        with watch, af.options(prove=how), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            history = fit(model, *blobs(60), validation=blobs(60, seed=1), **settings)
        assert {w.category for w in caught} == ({UnprovedWarning} if "iter" in name and how != "never" else set())
        generators = settings["rng"].bit_generator.state, model.layers[2].rng.bit_generator.state
        found.append((history.epochs, history.gradients, bits(model), sent, recorded, generators, capsys.readouterr()))
    assert found[0] == found[1]
