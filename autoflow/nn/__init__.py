"""Neural networks in NumPy expressions: functions, losses, layers, initialisers.

    functions.py  sigmoid, gelu, softmax, dropout, layer_norm, attention ... each a formula; six have rows of their own
                  in the table of derivatives, and it says why; convolution and pooling, from slices
    losses.py     what training minimises, with PyTorch's names and reductions
    init.py       the random numbers to start from
    module.py     Module: something with parameters that can be called, saved and loaded
    layers.py     Linear, Conv2d, BatchNorm ...: a function and its parameters; RNN, LSTM, GRU; attention
    checks.py     checks of inputs, and their errors
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
from . import init
from .functions import (
    avg_pool2d,
    batch_norm,
    conv1d,
    conv2d,
    conv_transpose1d,
    conv_transpose2d,
    dropout,
    elu,
    embedding,
    erf,
    gelu,
    group_norm,
    layer_norm,
    leaky_relu,
    log_softmax,
    max_pool2d,
    relu,
    scaled_dot_product_attention,
    sigmoid,
    silu,
    softmax,
    softplus,
    tanh,
)
from .layers import (
    GRU,
    LSTM,
    RNN,
    BatchNorm,
    Conv2d,
    ConvTranspose2d,
    Dropout,
    Embedding,
    GroupNorm,
    LayerNorm,
    Linear,
    MultiHeadAttention,
    Sequential,
    TransformerBlock,
)
from .losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    hinge_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
)
from .module import Module, functional_call

__all__ = [
    "GRU", "LSTM", "RNN", "BatchNorm", "Conv2d", "ConvTranspose2d", "Dropout", "Embedding", "GroupNorm", "LayerNorm",
    "Linear", "Module", "MultiHeadAttention", "Sequential", "TransformerBlock", "avg_pool2d", "batch_norm",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "conv1d", "conv2d", "conv_transpose1d",
    "conv_transpose2d", "cross_entropy", "dropout", "elu", "embedding", "erf", "functional_call", "gelu", "group_norm",
    "hinge_loss", "huber_loss", "init", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "log_softmax", "max_pool2d",
    "mse_loss", "nll_loss", "relu", "scaled_dot_product_attention", "sigmoid", "silu", "softmax", "softplus", "tanh",
]  # fmt: skip
publish(globals(), __all__)
