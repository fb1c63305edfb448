"""Build the site: ``make site``, or ``python site/make.py [FOLDER]``. Any static host serves the folder, and so does

    python -m http.server -d build/site

``playground.py`` makes the front page, ``pages.py`` what is there to read. What belongs to others comes from
``runtime.py``. Without Pyodide there is no site, and this says why.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import lab  # noqa: E402 - from here
import lessons as lesson_pages  # noqa: E402
import live_pages  # noqa: E402
import pages  # noqa: E402
import playground  # noqa: E402
import runtime  # noqa: E402
import search  # noqa: E402

import autoflow  # noqa: E402

AT_ONCE = ("vendor/", "examples/")  # folders that the first visit keeps; other pages are kept when they are read
PACKED = 12_000_000  # bytes, compressed: what the front page may need


def main(out: Path, *, reference: bool = True, lessons: bool = True) -> None:
    """Everything, in order.

    reference, lessons : with the API reference, with JupyterLite; they take the most time.
    """
    try:
        files = runtime.bring("playground", "lessons")
    except runtime.UnavailableError as reason:
        sys.exit(f"no site: {reason}")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    playground.build(out, files)
    without = lab.build(out, playground.zipped(), autoflow.__version__) if lessons else "left out"
    print(f"no JupyterLite: {without}" if without else "lessons run in JupyterLite, too")
    lesson_pages.build(out, files)
    pages.build(out, lab=not without)
    live_pages.build(out / "live")
    if reference:
        subprocess.run([sys.executable, HERE.parent / "docs" / "make_api.py", out / "api"], check=True)
        pages.without_network(out / "api")
    print(f"search: {search.build(out)} entries")
    stamp(out)
    packed = report(out)  # of the front page
    if packed > PACKED:
        sys.exit(f"the front page needs {packed:,} bytes, compressed: more than {PACKED:,}")


def kept_at_once(out: Path) -> list[str]:
    """What the first visit keeps for the time without a network."""
    names = sorted([path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()])
    return [name for name in names if ("/" not in name and name != "offline.js") or name.startswith(AT_ONCE)]


def stamp(out: Path) -> None:
    """The service worker's list of files, and a version that changes with any file of the site."""
    every = sorted([path for path in out.rglob("*") if path.is_file()])
    version = hashlib.sha256(b"".join([runtime.digest(path).encode() for path in every])).hexdigest()[:12]
    names = json.dumps(["./", *kept_at_once(out)])[1:-1]
    path = out / "offline.js"
    text = path.read_text(encoding="utf-8").replace("VERSION", version).replace("/* FILES */", names)
    path.write_text(text, encoding="utf-8")


def report(out: Path) -> int:
    """Print the sizes; return what the front page needs, compressed as servers do."""
    sizes = {path: path.stat().st_size for path in out.rglob("*") if path.is_file()}
    packed = 0
    for name in kept_at_once(out):
        packed += min(len(gzip.compress((out / name).read_bytes(), 6)), sizes[out / name])
    print(
        f"{out}: {len(sizes)} files, {sum(sizes.values()) / 1e6:.1f} MB. Front page: {packed / 1e6:.1f} MB compressed"
    )
    return packed


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/site").resolve())
