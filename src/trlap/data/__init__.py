"""Text: sources, cleaning, splits, tokens, the vocabulary, and the embedded demo corpus."""
