"""A recorded function as a program."""

from .compiled import compile

__all__ = ["compile"]
