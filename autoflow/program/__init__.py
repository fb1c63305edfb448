"""The place in the user's program where something was computed, and its name there. Nothing here knows arrays.

callers.py     whose code calls: the user's, ours, NumPy's, a library's that wants numbers
places.py      the activation (which call of which function) and the instruction, read when a record is made
source.py      from an instruction to the file, the line, the columns and the text of its expression
names.py       from the places of a graph to the names of its nodes
boxes.py       ... and to the calls and loops around them
watch.py       the turns of loops, seen while the program runs
turns.py       ... and from there to the words about them
"""
