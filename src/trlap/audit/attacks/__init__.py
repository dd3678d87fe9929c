"""Attacks: `base` is the contract, `registry` knows them by name, each has one file."""
