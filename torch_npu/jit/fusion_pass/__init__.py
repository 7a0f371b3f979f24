"""One module for each pass."""
