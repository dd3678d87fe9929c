"""A run: its cell, folder, cache, result, summary and tracking."""
