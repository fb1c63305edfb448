"""The gallery of images/make.py."""

import functools
import importlib.util
from pathlib import Path

from seeds import by_night

import autoflow as af

SVG = "{http://www.w3.org/2000/svg}"
spec = importlib.util.spec_from_file_location("images_make", Path(__file__).parents[2] / "images" / "make.py")
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)

DEAR = ("large", "residual", "long_recurrent", "unet", "transformer")
NAMES = by_night(make.GALLERY, DEAR)


@functools.cache
def picture(name, **options):
    """A picture of the gallery; names are counted from zero."""
    af.reset()
    with af.trace():
        return make.GALLERY[name](**options)
