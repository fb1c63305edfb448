"""Forward: NumPy meets a node, the value is computed, the operation is recorded."""
