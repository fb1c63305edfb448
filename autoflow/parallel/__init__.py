"""A loss over many examples in parts, on any engine. Read ``parts.py``, ``sums.py``, ``tasks.py``, ``engines.py``, and
``node.py``, which has ``af.data_parallel``."""
