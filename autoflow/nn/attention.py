"""Attention in several heads, and the block from which transformers are built.

Names and shapes of the parameters are those of PyTorch's ``MultiheadAttention`` and ``TransformerEncoderLayer``. A mask
says what *may* be seen, as in :func:`~autoflow.nn.scaled_dot_product_attention` (in PyTorch's layers, what may not).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InputError
from ..nodes.nodes import Node, Variable
from . import init as initialisers
from .checks import explain_missing_rng, floats, generator, probability, shape_is
from .functions import dropout, gelu, scaled_dot_product_attention
from .layers import LayerNorm, Linear, positive
from .module import Module

Array = Any


class MultiHeadAttention(Module):
    """Each of ``heads`` heads has size / heads features of its own: softmax(Qₕ Kₕᵀ / √d + mask) Vₕ. Then one more
    matrix mixes all of them. Q, K, V are query, key, value times the three squares of ``in_proj_weight``.

    Shapes: query (..., l, size), key and value (..., s, size), by default the query itself; result (..., l, size).
    ``attn_mask``: broadcasts to (..., l, s), the same for all heads; boolean (True: may be seen) or floats that are
    added. To hide the padding of short sequences, give (n, 1, s). ``in_proj_weight`` is (3 size, size),
    ``in_proj_bias`` (3 size,), ``out_proj`` a Linear. ``dropout``: probability with which an attention weight is set to
    0, in training. Source: Vaswani et al., NIPS 2017.

    >>> from autoflow import nn
    >>> layer = nn.MultiHeadAttention(8, 2, rng=np.random.default_rng(0))
    >>> layer(np.ones((5, 3, 8)), is_causal=True).shape
    (5, 3, 8)
    """

    @explain_missing_rng
    def __init__(
        self, size: int, heads: int, dropout: float = 0.0, bias: bool = True, *, rng: np.random.Generator,
        dtype: Any = float,
    ) -> None:  # fmt: skip
        positive("MultiHeadAttention", size=size, heads=heads)
        if size % heads:
            raise InputError(f"MultiHeadAttention: size {size} cannot be shared among {heads} heads")
        self.rng = generator("MultiHeadAttention", rng)
        squares = [initialisers.glorot_uniform(rng, (size, size), dtype) for _ in range(3)]
        self.in_proj_weight = Variable(np.concatenate(squares), copy=False)
        self.in_proj_bias = Variable(np.zeros(3 * size, dtype), copy=False) if bias else None
        self.out_proj = Linear(size, size, bias, rng=rng, dtype=dtype)
        self.heads, self.dropout = heads, probability("MultiHeadAttention", dropout)

    @property
    def size(self) -> int:
        """The number of features."""
        return int(self.in_proj_weight.shape[1])

    def forward(
        self, query: Array, key: Array = None, value: Array = None, attn_mask: Array = None, is_causal: bool = False
    ) -> Node:
        """(..., l, size), twice (..., s, size) -> (..., l, size)"""
        key = query if key is None else key
        value = key if value is None else value
        for name, x in (("query", query), ("key", key), ("value", value)):
            floats(self, x)
            shape_is(self, x, "...", "length", self.size, what=name)
        if attn_mask is not None and np.ndim(attn_mask) > 2:
            attn_mask = np.expand_dims(attn_mask, -3)  # for the heads
        q, k, v = [self.split(x, part) for part, x in enumerate((query, key, value))]
        p = self.dropout if self.training else 0.0
        z = scaled_dot_product_attention(q, k, v, attn_mask, p, is_causal, rng=self.rng)
        z = z.swapaxes(-2, -3)
        return self.out_proj(z.reshape((*z.shape[:-2], self.size)))

    def split(self, x: Array, part: int) -> Node:
        """Q, K or V, with an axis for the heads: (..., l, size) -> (..., heads, l, size / heads)"""
        rows = slice(part * self.size, (part + 1) * self.size)
        z = x @ self.in_proj_weight[rows].T
        z = z if self.in_proj_bias is None else z + self.in_proj_bias[rows]
        return z.reshape((*z.shape[:-1], self.heads, self.size // self.heads)).swapaxes(-2, -3)

    def __repr__(self) -> str:
        return f"MultiHeadAttention({self.size}, {self.heads})"


class TransformerBlock(Module):
    """x + attention(norm(x)), followed by the same with a small network: x + W₂ a(W₁ norm(x)). A transformer is many of
    these blocks.

    Shapes: x (..., length, size), result the same. ``hidden``: the size within the network, 4 size by default.
    ``norm_first=False`` takes the norm of each sum instead, as in Vaswani et al., NIPS 2017 (and PyTorch's
    ``TransformerEncoderLayer`` by default, with relu); the norm within, which trains more easily, is that of Xiong et
    al., ICML 2020. Dropout acts on the weights of the attention, within the network, and on what is added.

    >>> from autoflow import nn
    >>> block = nn.TransformerBlock(8, 2, rng=np.random.default_rng(0))
    >>> block(np.ones((5, 3, 8)), is_causal=True).shape
    (5, 3, 8)
    """

    @explain_missing_rng
    def __init__(
        self, size: int, heads: int, hidden: int | None = None, dropout: float = 0.0,
        activation: Callable[[Array], Array] = gelu, norm_first: bool = True, *, rng: np.random.Generator,
        dtype: Any = float,
    ) -> None:  # fmt: skip
        hidden = 4 * size if hidden is None else hidden
        self.self_attn = MultiHeadAttention(size, heads, dropout, rng=rng, dtype=dtype)
        self.linear1 = Linear(size, hidden, rng=rng, dtype=dtype)
        self.linear2 = Linear(hidden, size, rng=rng, dtype=dtype)
        self.norm1, self.norm2 = LayerNorm(size, dtype=dtype), LayerNorm(size, dtype=dtype)
        self.activation, self.norm_first = activation, norm_first

    def forward(self, x: Array, attn_mask: Array = None, is_causal: bool = False) -> Node:
        """(..., length, size) -> the same shape"""
        floats(self, x)
        shape_is(self, x, "...", "length", self.self_attn.size)

        def attend(y: Array) -> Array:
            return self.drop(self.self_attn(y, attn_mask=attn_mask, is_causal=is_causal))

        if self.norm_first:
            x = x + attend(self.norm1(x))
            return x + self.network(self.norm2(x))
        x = self.norm1(x + attend(x))
        return self.norm2(x + self.network(x))

    def network(self, x: Array) -> Node:
        """W₂ a(W₁ x), with dropout."""
        return self.drop(self.linear2(self.drop(self.activation(self.linear1(x)))))

    def drop(self, x: Array) -> Node:
        """Dropout, of the same probability everywhere."""
        return dropout(x, self.self_attn.dropout, self.training, rng=self.self_attn.rng)

    def __repr__(self) -> str:
        return f"TransformerBlock({self.self_attn.size}, {self.self_attn.heads})"
