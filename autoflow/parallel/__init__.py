"""A loss over many examples in parts, on any engine. Read ``tasks.py``, the work of a worker, then ``engines.py``,
which also has ``af.data_parallel``.
"""
