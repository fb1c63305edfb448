"""What a picture knows: data, names, numbers, colours."""
