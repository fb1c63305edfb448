"""Arrays that can be recorded: how they are made, and brought from one library to another."""
