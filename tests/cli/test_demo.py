"""The demo: right gradients, pictures, and digits that are read."""

import builtins
from types import SimpleNamespace

import numpy as np
import pytest

from autoflow.base.lazy import show_bar
from autoflow.cli import demo
from autoflow.cli.commandline import nodes_of


def derivatives(x, y, z):
    """By hand: a5 = a1² sin a2 - a1 cos a2 with a1 = x + y + z, a2 = x y z."""
    a1, a2 = x + y + z, x * y * z
    by_a1, by_a2 = 2 * a1 * np.sin(a2) - np.cos(a2), a1**2 * np.cos(a2) + a1 * np.sin(a2)
    return by_a1 + by_a2 * np.array([y * z, x * z, x * y])


def test_example_has_the_right_gradients():
    a5 = demo.example()
    assert a5.value == 12.0**2 * np.sin(60.0) - 12.0 * np.cos(60.0)
    a5.backward()
    nodes = {node.name: node for node in nodes_of(a5)}
    np.testing.assert_allclose([nodes[n].grad for n in "xyz"], derivatives(3.0, 5.0, 4.0), rtol=1e-13)
    assert nodes["a3"].grad == 1.0
    assert nodes["a4"].grad == -1.0
    assert {"a1", "a2", "a3", "a4", "a5"} <= set(nodes)


def test_demo_prints_and_draws(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(demo, "learn_digits", lambda images, labels: 0.9876)
    monkeypatch.setattr(demo, "load_digits", lambda: (np.zeros((5, 64)), np.zeros(5)))
    assert demo.main(tmp_path / "demo") == 0
    out = capsys.readouterr().out
    for name in ("x", "y", "z", "a1", "a2", "a3", "a4", "a5"):
        assert f"\n{name} " in out
    assert "98.8%" in out
    assert {"example.svg", "example.dot"} <= {path.name for path in (tmp_path / "demo").iterdir()}


def test_demo_says_what_to_install(tmp_path, capsys, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.partition(".")[0] in ("sklearn", "tqdm"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert demo.main(tmp_path) == 1
    assert "pip install scikit-learn tqdm" in capsys.readouterr().err
    assert list(show_bar(range(3))) == [0, 1, 2]


def test_pictures_that_cannot_be_made_do_not_stop_the_demo(tmp_path, capsys):
    def save(path):
        if path.suffix == ".html":
            raise ValueError("no .html yet\nsecond line")
        path.write_text("picture")

    root = SimpleNamespace(graph=lambda: SimpleNamespace(save=save))
    assert [path.name for path in demo.draw(root, tmp_path)] == ["example.svg", "example.dot"]
    assert capsys.readouterr().out == "   no example.html: no .html yet\n"


@pytest.mark.slow
@pytest.mark.nightly
def test_digits_are_read():
    pytest.importorskip("sklearn")
    images, labels = demo.load_digits()
    assert images.shape == (1797, 64)
    assert demo.learn_digits(images, labels) > 0.95
