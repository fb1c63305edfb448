"""Arrays that can be recorded: how they are made (``creation.py``), and brought from one library to another
(``devices.py``).
"""
