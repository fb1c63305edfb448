"""The model of a picture: data, names, numbers, colours."""
