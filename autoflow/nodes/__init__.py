"""Nodes: arrays that remember, the records they point at, and what is kept of their values."""
