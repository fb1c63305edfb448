"""What is drawn of what was recorded: chains merged, boxes folded."""
