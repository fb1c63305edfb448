"""A recorded program as text, in a language that runs without autoflow: NumPy source, or JavaScript.

In the order of reading: ``writer.py`` has what all languages share, value by value, and ``program_text.py`` what users
get from ``af.compile(f).program(...)``. ``python.py`` is the shorter of the two languages. ``javascript.py`` writes
loops over typed arrays; ``calls.py`` says where in those arrays a value lies, so that a view costs nothing, and has the
calls that are neither elementwise nor only move elements. ``functions.js`` has what JavaScript lacks.

The program is taken as it was recorded, before the passes that make it faster for NumPy: those replace values with
calls that do not describe themselves.
"""
