"""Pages that show a picture, and step through it."""
