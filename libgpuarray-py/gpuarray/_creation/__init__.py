"""Functions that make arrays: of data, filled, of numbers in order, of coordinates."""
