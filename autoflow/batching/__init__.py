"""vmap: functions written for one example, run on a batch. Read ``batched.py``, then ``forms.py``, then ``vmap.py``."""
