"""A recorded function as a program."""

from .compiled import compile
from .process import gc_paused, warm_allocator

__all__ = ["compile", "gc_paused", "warm_allocator"]
