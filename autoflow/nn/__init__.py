"""Neural networks in NumPy expressions: functions, losses, layers, initialisers.

    functions.py  sigmoid, gelu, softmax, dropout, layer_norm, attention ... each a formula; six have rows of their own
                  in the table of derivatives, and it says why; convolution and pooling, from slices
    losses.py     what training minimises, with PyTorch's names and reductions
    init.py       the random numbers to start from
    module.py     Module: something with parameters that can be called, saved and loaded
    layers.py     Linear, Conv2d, BatchNorm ...: a function and its parameters; RNN, LSTM, GRU; attention
    train.py      fit: the training loop
    plots.py      pictures of training: af.plot_loss and others; those that need no library: text, SVG
    live.py       training while it happens, drawn again and again; af.watch notes the sizes of layers

Read in that order. Shapes and names of parameters are PyTorch's, so weights can be exchanged unchanged.

>>> from autoflow import nn
>>> rng = np.random.default_rng(0)
>>> model = nn.Sequential(nn.Linear(2, 8, rng=rng), nn.tanh, nn.Linear(8, 1, rng=rng))
>>> model(np.zeros((5, 2))).shape
(5, 1)
"""

from ..base.lazy import publish
from . import functions, init, layers, losses, module
from .functions import *  # noqa: F403 - the names in its __all__
from .layers import *  # noqa: F403 - the names in its __all__
from .losses import *  # noqa: F403 - the names in its __all__
from .module import *  # noqa: F403 - the names in its __all__

__all__ = ["init", *functions.__all__, *layers.__all__, *losses.__all__, *module.__all__]
publish(globals(), __all__)
