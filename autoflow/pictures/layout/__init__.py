"""The layout of a picture: positions of nodes, boxes and arrows."""
