"""Backward: the engine visits the records, and each sends gradients to its operands."""
