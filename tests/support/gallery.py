"""The gallery of images/make.py."""

import importlib.util
from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"
spec = importlib.util.spec_from_file_location("images_make", Path(__file__).parents[2] / "images" / "make.py")
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)
