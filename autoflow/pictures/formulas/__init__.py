"""A graph as formulas."""
