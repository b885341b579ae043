"""Votes from elsewhere: `reading.py` makes rows of a file, `battles.py` checks them and stores them as comparisons."""
