"""Programs in a Python of their own, for what this one has imported, forked or warmed already; in JavaScript; and
scripts as modules."""

import importlib.util
import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest


def alone(code: str, *arguments: str, options: tuple[str, ...] = (), **how: Any) -> str:
    """What the program prints; an AssertionError with what it says if it fails."""
    command = [sys.executable, *options, "-c", textwrap.dedent(code), *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded(path: str) -> Any:
    """The module of a script, by its path in the checkout: several are called make.py."""
    spec = importlib.util.spec_from_file_location(path[:-3].replace("/", "_"), Path(__file__).parents[2] / path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def in_node(script: str) -> Any:
    """What a script in JavaScript calls ``RESULT``: as JSON, in which NaN and infinities are text."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    tail = ";console.log(JSON.stringify(RESULT, (k, x) => typeof x === 'number' && !isFinite(x) ? String(x) : x));"
    how: dict[str, Any] = {"capture_output": True, "encoding": "utf-8", "timeout": 300, "check": False}
    done = subprocess.run(["node", "-"], input=script + tail, **how)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
