"""How a program runs: buffers, calls, tiles, threads."""
