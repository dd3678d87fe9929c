"""Rewriters and classifiers, one file each, and what they share."""
