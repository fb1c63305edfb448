"""A loss over many examples in parts, on any engine. Read ``tasks.py``, what a worker does, then ``engines.py``, and
``node.py``, which has ``af.data_parallel``."""
