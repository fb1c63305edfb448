"""A picture as SVG, DOT, text, tables."""
