"""Changes of a program that make it quicker, or smaller."""
