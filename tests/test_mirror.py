"""Tests stand where a reader looks: of each module in the file of its name in the same folder, or as said here."""

from fnmatch import fnmatch
from pathlib import Path

import pytest

from autoflow.base.lazy import MOVED

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "autoflow"

# Modules without a test file of their name: where their tests are instead, in folders or files of tests/, and why.
# fmt: off
ELSEWHERE = {
    "arrays.py": ("nodes test_interop.py", "a line or two around NumPy: what they make is tested as nodes"),
    "backends/registry.py": ("backends/test_backends.py", "all that backends/__init__ exports is in it"),
    "backprop/snapshots.py": ("transforms/test_proofs.py", "what a second run leaves behind, seen in proofs"),
    "backprop/opening.py": ("backprop/test_backward.py backprop/test_hooks.py", "what a pass does at a record"),
    "backprop/passes.py": ("backprop/test_backward.py", "backward() is its one way in"),
    "base/errors.py": ("test_public_names.py", "classes without code; each message is tested where it is raised"),
    "base/lazy.py": ("test_architecture.py", "about imports, as that file is"),
    "base/groups.py": ("pictures/folding/test_choose.py pictures/formulas/test_why.py", "what waits for what"),
    "base/numbering.py": ("nodes/test_nodes.py", "numbers in the names of nodes"),
    "base/columns.py": ("transforms/test_gradcheck.py", "the table of a check, and those of other reports"),
    "base/spellings.py": ("test_messages.py", "what an AttributeError says"),
    "base/types.py": ("test_typing.py", "names for annotations, without code"),
    "batching/batched.py": ("batching/test_vmap.py", "seen in all that af.vmap promises"),
    "batching/looping.py": ("batching/test_first_comparison.py batching/test_reasons.py", "what is compared, and why"),
    "batching/products.py": ("batching/test_forms.py", "each row is tried on a batch there"),
    "batching/shapes.py": ("batching/test_forms.py", "each row is tried on a batch there"),
    "compiler/compiled.py": ("compiler/test_compile.py", "seen in what compiled functions compute"),
    **dict.fromkeys(
        ("compiler/llvm/native.py", "compiler/llvm/schedule.py", "compiler/llvm/words.py"),
        ("compiler/llvm/test_loops.py", "what is made of a program before loops are written")),
    **dict.fromkeys(
        ("compiler/text/calls.py", "compiler/text/javascript.py", "compiler/text/python.py", "compiler/text/writer.py"),
        ("compiler/text/test_program_text.py", "each row is written in both languages there")),
    "extending/joint.py": ("extending/test_function.py extending/test_second_orders.py", "what both ways share"),
    "extending/ops.py": ("extending/test_function.py", "where functions are registered"),
    "forward/dispatch.py": ("rules", "each row of the table goes through it"),
    "forward/naming.py": ("test_messages.py", "notes on errors of NumPy's"),
    "forward/operators.py": ("rules", "each row of the table goes through it"),
    "forward/recording.py": ("rules nodes/test_nodes.py", "each row of the table goes through it"),
    "forward/templates.py": ("forward/test_closures.py", "the text of the functions there"),
    "implicit/equations.py": ("implicit/test_points.py implicit/test_optima.py", "what root and argmin are made of"),
    "lessons/exercises.py": ("test_lesson_questions.py", "checks of answers: all are asked and answered there"),
    "mypy_plugin.py": ("test_typing.py", "what mypy finds with it is tested there"),
    "nn/init.py": ("nn/test_layers.py", "the numbers with which layers begin"),
    "nn/losses.py": ("nn/test_functions.py", "functions of networks are in one table there"),
    "nodes/coercion.py": ("nodes/test_nodes.py", "how anything becomes a node"),
    "nodes/grads.py": ("nodes/test_nodes.py backprop/test_backward.py", "grad is an attribute of nodes"),
    "nodes/printing.py": ("nodes/test_nodes.py", "what str and repr say of nodes"),
    "nodes/records.py": ("nodes/test_nodes.py backprop/test_engine.py", "what nodes remember, and the engine walks"),
    "nodes/versions.py": ("nodes/test_written_past.py forward/test_inplace.py", "seen only when something is written"),
    "parallel/engines.py": ("test_parallel.py test_parallel_engines.py", "by what af.data_parallel gives on each"),
    "parallel/tasks.py": ("test_parallel.py", "parts, sums and programs: by what af.data_parallel gives"),
    "pictures/folding/repeats.py": ("pictures/folding/test_choose.py", "repeats, in pictures of any program"),
    **dict.fromkeys(
        ("pictures/formulas/algebra.py", "pictures/formulas/chain.py"),
        ("pictures/formulas/test_latex.py pictures/formulas/test_why.py", "formulas, as they are shown")),
    **dict.fromkeys(
        ("pictures/layout/layers.py", "pictures/layout/nesting.py"),
        ("pictures/layout/test_arrange.py", "where things stand in the end")),
    "pictures/model/gathering.py": ("pictures/test_walk.py pictures/test_huge.py", "what a walk finds"),
    "pictures/model/style.py": ("pictures/test_looks.py", "colours and sizes, measured on what is drawn"),
    "pictures/pages/stepper.py": ("pictures/pages/test_html.py pictures/test_browser.py", "in a browser, too"),
    **dict.fromkeys(
        [f"pictures/render/{name}.py" for name in ("cards", "display", "drawing", "svg")],
        ("pictures/test_gallery.py pictures/test_looks.py", "what stands on cards, and in which colours and fonts")),
    **dict.fromkeys(
        ("pictures/render/dot.py", "pictures/render/text.py"),
        ("pictures/test_formats.py pictures/test_gallery.py", "one drawing, compared in these formats, too")),
    "pictures/render/placing.py": ("pictures/layout/test_arrange.py", "where cards and arrows are in a picture"),
    "pictures/render/png.py": ("pictures/pages/test_html.py", "pixels at the place of the SVG"),
    "pictures/render/tikz.py": ("pictures/pages/test_frames.py", "TeX for a document, and films for a talk"),
    "program/callers.py": ("forward/test_takers.py nodes/test_foreign.py", "where who calls decides"),
    "program/source.py": ("program/test_names.py", "what an expression is, as its names say"),
    "program/watch.py": ("program/test_turns.py", "what it sees are the turns"),
    "rules/bessel.py": ("rules/test_special.py rules/test_special_edges.py", "rows for SciPy, generated"),
    "rules/matrix_functions.py": ("scipy/test_linalg.py", "rows for SciPy, generated"),
    **dict.fromkeys(
        ("scipy/bodies.py", "scipy/fft.py", "scipy/ndimage.py", "scipy/optimize.py"),
        ("scipy/test_mirrors.py", "SciPy's functions, run on nodes, go through all of them")),
    "scipy/stats/elementary.py": ("scipy/stats/test_continuous.py", "one table goes through all distributions"),
    "table/vjps.py": ("table/test_table.py rules", "what rows are made of: each row goes through it"),
    "transforms/evaluation.py": ("transforms/test_proofs.py", "all transforms begin with it, and with its proofs"),
    "transforms/gradient.py": ("transforms/test_transforms.py", "one table of functions goes through all transforms"),
    "transforms/jacobian.py": (
        "transforms/test_transforms.py transforms/test_batched_passes.py transforms/test_sparse_jacobian.py",
        "the same table; many passes as one; patterns"),
    "transforms/vjp_jvp.py": ("transforms/test_transforms.py transforms/test_gauss_newton.py", "the same table; G v"),
}
# fmt: on


def modules():
    """All modules, as paths in the package."""
    paths = [path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py"))]
    return [path for path in paths if not path.name.startswith("__") and path.as_posix()[:-3] not in MOVED]


def has_its_file(path):
    return (TESTS / path.parent / f"test_{path.stem}.py").exists()


def test_each_module_has_a_test_file_of_its_name_or_a_sentence_why_not():
    without = [path.as_posix() for path in modules() if not has_its_file(path)]
    assert [path for path in without if not any([fnmatch(path, pattern) for pattern in ELSEWHERE])] == []


@pytest.mark.parametrize("pattern", ELSEWHERE)
def test_what_is_tested_elsewhere(pattern):
    """The row is needed, and what it names is there."""
    assert [path for path in modules() if fnmatch(path.as_posix(), pattern) and not has_its_file(path)]
    places, why = ELSEWHERE[pattern]
    assert [place for place in places.split() if not (TESTS / place).exists()] == []
    assert len(why.split()) > 3


def test_each_folder_of_tests_is_one_of_the_package():
    ours = {path.parent.as_posix() for path in modules()}
    folders = {path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    assert folders <= ours
