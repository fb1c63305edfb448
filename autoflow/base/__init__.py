"""The ground floor: what every room uses, and what uses no other room.

errors.py       one class for each kind of mistake
modes.py        the switches of a thread, and af.options, which sets them
process.py      two switches of the whole process: Python's collector, and the allocator
numbering.py    the numbers of nodes
lazy.py         what is imported when it is first needed, and old names of modules
pytree.py       arrays in lists and dicts
columns.py      tables of text
saving.py       arrays in files
transformed.py  functions made of functions, which pickle
"""
