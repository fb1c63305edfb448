"""Rules of your own."""
