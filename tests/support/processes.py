"""Programs in a Python of their own, for what this one has imported, forked or warmed already."""

import subprocess
import sys
import textwrap
from typing import Any


def alone(code: str, *arguments: str, options: tuple[str, ...] = (), **how: Any) -> str:
    """What the program prints; an AssertionError with what it says if it fails."""
    command = [sys.executable, *options, "-c", textwrap.dedent(code), *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout
