"""Private text: blocks of words with randomness of their own, and a user's own files."""
