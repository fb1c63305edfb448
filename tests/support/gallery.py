"""The gallery of images/make.py."""

import functools

from processes import loaded
from seeds import by_night

import autoflow as af

SVG = "{http://www.w3.org/2000/svg}"
make = loaded("images/make.py")
DEAR = ("large", "residual", "long_recurrent", "unet", "transformer")
NAMES = by_night(make.GALLERY, DEAR)


@functools.cache
def picture(name, **options):
    """A picture of the gallery; names are counted from zero."""
    af.reset()
    with af.trace():
        return make.GALLERY[name](**options)
