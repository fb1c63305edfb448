"""From the recorded graph to what is drawn: chains merged, boxes folded."""
