"""Passes that make a program faster or smaller."""
