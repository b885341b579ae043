"""How many may ask an endpoint at once, and how often.

`policy` decides, and is pure; `stores` keep what it decides on, in memory or in Redis, so that all processes share it;
`gate` is the line in front of an endpoint, and the only part that others use.
"""
