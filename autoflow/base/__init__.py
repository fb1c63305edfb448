"""The ground floor: what every room uses, and what uses no other room.

:mod:`.errors`, one class for each kind of mistake; :mod:`.modes`, the switches of a thread, and ``af.options``, which
sets them; :mod:`.process`, the switches of the whole process; :mod:`.numbering`, the numbers of nodes;
:mod:`.lazy`, what is imported when it is first needed; :mod:`.pytree`, arrays in lists and dicts; :mod:`.saving`,
arrays in files; :mod:`.transformed`, functions made of functions, which pickle.
"""
