"""The doctor: what is wrong with this gradient, in one sentence, with the line.

findings.py    a finding, and a report of several
passes.py      a graph, and what flows through each of its records in a backward pass
graphs.py      what one graph tells: ``loss.diagnose()``
training.py    what several runs of a training step tell: ``af.diagnose(step)``
coverage.py    what happens to derivatives on each line of a program
notebook.py    coverage of a cell, and tracebacks in IPython
"""
