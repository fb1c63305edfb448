"""The command line: ``python -m autoflow``.

commandline.py  what a formula may contain, and how its numbers are printed
demo.py         --demo: a formula and its picture, and a network that learns digits
checking.py     --check: where a whole program loses gradients
"""
