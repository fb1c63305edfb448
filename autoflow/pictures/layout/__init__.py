"""Where things stand in a picture."""
