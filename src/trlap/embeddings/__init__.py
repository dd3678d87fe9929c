"""Vectors of words, data inside PyPI wheels, and the space in which the nearest word is found."""
