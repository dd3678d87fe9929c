"""Figures, one file for each kind; what they share is in `style`, `axis` and `labels`."""
