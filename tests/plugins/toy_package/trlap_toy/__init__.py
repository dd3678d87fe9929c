"""One thing of each kind."""
