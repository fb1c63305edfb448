"""The doctor finds what is wrong in a sick program, and nothing in its healthy twin."""

import inspect
import math
import re

import numpy as np
import pytest
import sick_programs
from constants_on_purpose import MEANT, as_step
from healthy_programs import HEALTHY
from sick_programs import PROGRAMS

import autoflow as af

CASES = [(kind, k) for kind, pairs in PROGRAMS.items() for k in range(len(pairs))]


def examine(program):
    """What is found in one of the programs."""
    made = program()
    if callable(made) and getattr(made, "__code__", None) is not None and made.__code__.co_name == "<lambda>":
        result = made()
        if isinstance(result, tuple):
            return result[0].diagnose(*result[1:])
    return af.diagnose(made)


@pytest.mark.parametrize(("kind", "k"), CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_sick_program(kind, k):
    found = examine(PROGRAMS[kind][k][0])
    assert found.kinds[0] == kind, str(found)
    assert len(found) <= 2, str(found)


@pytest.mark.parametrize(("kind", "k"), CASES)
def test_its_healthy_twin(kind, k):
    found = examine(PROGRAMS[kind][k][1])
    assert not found, str(found)


SAID = {
    "no_step": "w never changes: no opt.step() comes between backward() and the next zero_grad()",
    "cleared_before_the_step": "no opt.step() comes between backward() and the next zero_grad()",
    "step_before_backward": "no opt.step() comes between backward() and the next zero_grad()",
    "learning_rate_of_0": "the learning rate of the optimiser is 0",
    "parameters_made_again": "the optimiser has another Variable of this name",
    "variables_made_again_in_each_step": "the optimiser has another Variable of this name",
    "steps_that_are_rounded_away": "what a step adds is too small for the dtype",
    "computed_by_hand_and_written_nowhere": "nothing writes into it",
    "forgotten_parameter": "b never changes: no optimiser has it",
    "only_the_first_layer_is_given": "W2 never changes: no optimiser has it",
    "name_of_a_loop": "Write into it: with af.no_grad(): w -= lr * w.grad", "backward_twice": "backward() runs twice",
    "losses_kept": "Keep the number: losses.append(float(loss))",
    "running_sum": "Keep the number: total += float(loss)",
    "parameter_behind_a_cut": "W has no part in",
    "loss_wrapped_again": "backward() starts at a leaf: numbers leave the graph at float(value) (line",
    "too_large_for_half_precision": "float16 ends at 6.55e+04: compute in a wider dtype",
    "exploding_layers": "grows by a factor of 20 in each of 7 steps",
    "vanishing_layers": "shrinks by a factor of 0.05 in each of 7 steps",
    "thrown_away_without_zero_grad": "nothing writes into it",
    "an_update_that_is_only_computed": "nothing writes into it",
    "steps_of_a_copy": "weight, bias never change: the optimiser has another Variable",
    "clipped_to_nothing": "the gradient was 0 when the optimiser made its step",
    "an_expression_for_a_statement": "Write into it: with af.no_grad(): w -= lr * w.grad",
    "up_the_gradient": "steps go up its gradient (line",
    "units_that_begin_alike": "all 4 units of W have the same weights and the same gradients",
    "layers_of_equal_weights": "all 8 units of 0.weight have the same weights and the same gradients",
    "rows_that_begin_alike": "all 4 units of W have the same weights and the same gradients",
    "softmax_before_cross_entropy": "has passed a softmax, and the loss takes one itself",
    "sigmoid_before_its_loss": "has passed a sigmoid, and the loss takes one itself",
    "loss_made_before_the_step": "backward() starts at once, which was computed before the step",
    "numpys_array_in_a_step": "np.array([x * w for x in X]) has numbers of nodes only",
    "wrapped_in_a_constant": "W has no part in np.mean((h @ v - 1.0) ** 2): af.Constant(h) (line",
    "backward_of_a_number": "the result is not a node but float: numbers leave the graph at value.item() (line",
    "backward_of_an_accuracy": "numbers leave the graph at p > 0.5 (line",
    "a_variable_of_the_loss": "backward() starts at a leaf: numbers leave the graph at af.Variable(value) (line",
    "signs_as_activation": "sign is constant between its steps",
    "schedule_made_in_each_step": "each step makes a new Schedule",
    "mean_over_the_wrong_axis": "backward() starts from loss of shape (20,)",
    "value_in_the_place_of_grad": "Write w.grad, not w.value",
    "penalty_that_is_subtracted": "penalty is subtracted from the loss, so steps make it grow (line",
    "nothing_between_two_layers": "two linear layers are one (line",
    "layers_written_by_hand": "nothing but a bias is between W1 and W2",
    "targets_beyond_tanh": "tanh gives -1 to 1, and 14 of 20 targets are outside",
    "targets_beyond_sigmoid": "Leave out the last sigmoid",
    "overflow_inside_of_a_finite_result": "exp of (x - 1.0)[1] = 999 is inf",
    "nothing_in_this_is_spread": "divide of (x - np.mean(x))[0] = 0 and np.std(x) = 0 is nan",
    "limits_that_are_too_narrow": "clip passes 0 of 2 entries of x: x gets no gradient",
    "no_variable_at_all": "no operation on a node was recorded. Make an af.Variable",
    "number_taken_in_a_function": "numbers leave the graph at float(x) (line",
    "stored_in_a_plain_array": "out has numbers of nodes only, and out * x (line",
    "full_of_a_parameter": "full(20, b) has numbers of nodes only, and X @ w +",
    "no_step_and_cleared_late": "w never changes: no opt.step()",
    "the_largest_of_scores": "numbers leave the graph at np.argmax(model(X), axis=1) (line",
    "value_between_two_networks": "weight, bias have no part in loss: np.tanh(body(X)).value",
    "rate_that_is_0_after_the_first_step": "from step to step: 0.05, 0, 0 (line",
    "parameter_made_in_each_step": "w is made in each step, so what it has learned is lost (line",
    "targets_made_a_column": "If pairs are not meant, write column[:, 0] for the column",
    "layers_of_zeros": "W2 is 0 everywhere, so nothing comes to np.tanh(X @ W1)",
    "mask_of_whole_numbers": "it picks the entries 0 and 1, 20 times (line",
    "softmax_written_out_over_the_examples": "softmax makes p add up to 1 along axis 0, that of the examples (line",
    "start_that_is_no_copy": "It is the memory of w itself, and changes with it. Keep a copy: w.value.copy()",
    "drawn_from_parameters": "drawn * w (line",
    "a_mask_in_which_nothing_is_left": "mask is 0 everywhere, so nothing comes to (X @ w) ** 2: w gets no",
    "frozen_in_a_loop": "weight is frozen (line",
    "array_of_an_output": "numbers leave the graph at np.asarray(net(X)) (line",
    "likelihood_that_steps_lower": "the targets, whose logarithms have no minus (line",
    "decay_of_the_wrong_sign": "of 0.weight, 0.bias to the same: a decay of the wrong sign (line",
    "up_the_gradient_of_arrays": "steps go up its gradient (line",
    "sigmoid_of_a_sigmoid": "net(X) has passed a sigmoid, and another follows (line",
    "labels_that_begin_at_1": "nn.cross_entropy(X @ W, LABELS + sick)): cross_entropy: label 3 is not one of",
    "a_step_of_0": "w never changes: what is written into it is what was there",
    "a_bias_that_nothing_writes": "with af.no_grad(): b -= lr * b.grad; or b.requires_grad = False",
    "gap_in_the_second_of_three_batches": "X[k:k + 7] is already nan at index (5, 1), before matmul",
    "weights_that_decay_beyond_0": "each step takes w away 3 times",
    "classes_in_a_loss_before_an_update": "numbers leave the graph at z.argmax(1) (line",
    "one_row_in_the_place_of_a_batch": "pass nothing for any example, and all examples are the same",
    "dead_below_another_layer": "relu passes 0 of 60 entries of X @ W1: W1 gets no gradient",
}  # fmt: skip


CAUSES = (  # of a gradient that is lost: of each program one is said
    "leave the graph at", "has numbers of nodes only", "is frozen", "its history was cut by", "is made of Constants",
    "was computed under", "no operation on a node",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("k", [k for k in CASES if k[0] in ("lost", "no history")])
def test_one_cause_is_said(k):
    found = str(examine(PROGRAMS[k[0]][k[1]][0]))
    assert sum(found.count(text) for text in CAUSES) == 1, found
    assert "usual causes" not in found


@pytest.mark.parametrize("name", SAID)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_said(name):
    found = af.diagnose(getattr(sick_programs, name)(True))
    assert SAID[name] in str(found)
    assert len(found) == 1


READERS = {  # of a Variable's numbers, past all that could be asked
    "full of an entry": lambda w: np.full(3, w[0]), "full": lambda w: np.full(3, w), "asarray": np.asarray,
    "array": lambda w: np.array(w), "written": lambda w: written(w), "math": lambda w: np.ones(3) * math.sin(w[0]),
    "pad": lambda w: np.pad(np.ones(1), 1, constant_values=w[0]),
    "drawn": lambda w: np.random.default_rng(0).normal(w, 1.0),
}  # fmt: skip


def written(w):
    """In a plain array."""
    out = np.zeros(3)
    out[:] = w
    return out


@pytest.mark.parametrize("form", ["a function", "a step", "a step that clears late"])
@pytest.mark.parametrize("name", READERS)
def test_numbers_of_variables_from_outside_are_found_where_they_are_read(name, form):
    w, v = af.Variable([0.5, 1.0, 2.0], name="w"), af.Variable([1.0, 2.0, 3.0], name="v")
    opt = af.optim.SGD([w, v], lr=0.001)

    def loss():
        return np.sum(READERS[name](w) * v) + np.sum(w**2)

    def step():
        z = loss() if form == "a step that clears late" else None
        opt.zero_grad()
        (loss() if z is None else z).backward()
        opt.step()

    before = w.value.copy()
    found = af.diagnose(loss if form == "a function" else step)
    assert found.kinds == ("lost",), str(found)
    np.testing.assert_array_equal(w.value, before)
    assert np.shares_memory(w.value, np.asarray(w))


def test_variables_of_one_name_are_told_apart_by_their_lines():
    first = af.Variable([1.0, 2.0], name="w")
    second = af.Variable([3.0, 4.0], name="w")
    opt = af.optim.SGD([first], lr=0.01)

    def step():
        opt.zero_grad()
        np.sum((first * second) ** 2).backward()
        opt.step()

    line = inspect.getsourcelines(step)[1] - 3
    assert f"w (line {line}) never changes: no optimiser has it" in str(af.diagnose(step))


@pytest.mark.parametrize("program", HEALTHY, ids=lambda program: program.__name__)
def test_nothing_is_found_in_a_healthy_training_step(program):
    found = af.diagnose(program())
    assert not found, str(found)


@pytest.mark.parametrize("program", MEANT, ids=lambda program: program.__name__)
def test_nothing_is_found_in_what_is_meant(program):
    found = af.diagnose(as_step(program))
    assert not found, str(found)


def test_steps_up_a_gradient_that_are_meant_are_no_finding():
    w, model = af.Variable([0.5, -0.5], name="w"), af.Variable([1.0, 2.0], name="model", requires_grad=False)

    def attack():
        loss = np.sum((w * model) ** 2)
        loss.backward()
        w.value = w.value + 0.05 * w.grad
        w.zero_grad()

    def ascend():
        gain = -np.sum((w - 3.0) ** 2)
        gain.backward()
        w.value = w.value + 0.05 * w.grad
        w.zero_grad()

    assert not af.diagnose(attack)
    assert not af.diagnose(ascend)
    model.requires_grad = True
    assert "uphill" in af.diagnose(attack).kinds


@pytest.mark.parametrize(("dtype", "scale"), [("f8", 1.0), ("f8", 1e-4), ("f4", 1.0), ("f4", 1e-2), ("f2", 1.0)])
def test_steps_of_a_fixed_length_are_told_from_rounded_ones(dtype, scale):
    inputs = (np.random.default_rng(0).normal(size=(50, 3)) * scale).astype(dtype)
    targets = (inputs @ np.array([1, 2, -3], dtype) + 0.1).astype(dtype)
    for is_fixed in [False, True][: 2 - (dtype == "f2")]:
        slope = af.Variable(np.full(3, 5, dtype), name="slope")

        def step(slope=slope, is_fixed=is_fixed):
            slope.zero_grad()
            loss = np.mean((inputs @ slope - targets) ** 2)
            loss.backward()
            g = slope.grad
            move = 0.01 * g / np.linalg.norm(g) if is_fixed else 1e-3 / scale**2 * g
            slope.value = (slope.value + move).astype(g.dtype)

        assert af.diagnose(step).kinds == (() if is_fixed else ("uphill",))


def test_errors_of_the_program_stay_its_own():
    for wrong in (lambda: [].backward, lambda: object().forward, lambda: np.sum(af.Variable([1.0])).nothing):
        with pytest.raises(AttributeError):
            af.diagnose(lambda wrong=wrong: (np.sum(af.Variable([1.0])).backward(), wrong()))
        with pytest.raises(AttributeError):
            af.diagnose(wrong)


def training_step(w, loss, lr, *, passes=1):
    """A step by hand."""

    def step():
        z = loss(w)
        for _ in range(passes):
            z.backward()
        with af.no_grad():
            w.value = w.value - lr * w.grad
        w.zero_grad()

    return step


def test_numbers_that_are_large_infinite_or_complex():
    """No warning, no error, no other finding than with others."""
    grows = "steps are too long for its curvature"
    for values, loss, lr, passes, said in (
        ([1.0, np.inf], lambda w: np.sum(w[:1] ** 2), 0.1, 1, "Nothing found"),
        ([1.0, 2.0], lambda w: np.sum(1e200 * w**2), 3e-200, 1, f"{grows} .*3e-200 is too large"),
        ([1.0 + 1.0j, 2.0], lambda w: np.sum(np.abs(w) ** 2), 0.1, 1, "Nothing found"),
        ([1.0 + 1.0j, 2.0], lambda w: np.sum(np.abs(w) ** 2), 3.0, 1, f"{grows} .*of 3 is too large"),
        ([1.0 + 1.0j, 2.0], lambda w: np.sum(np.abs(w) ** 2), 0.1, 2, "runs twice from"),
        ([1.0, 2.0], lambda w: np.sum(w * 2.0), 1e-30, 1, "what is written into it is what was there"),
    ):  # fmt: skip
        found = str(af.diagnose(training_step(af.Variable(values, name="w"), loss, lr, passes=passes)))
        assert re.search(said, found), found
