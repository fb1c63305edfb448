"""A loss over many examples in parts, on any engine. Read ``tasks.py``, what a worker does, then
``engines.py``, which also has ``af.data_parallel``.
"""
