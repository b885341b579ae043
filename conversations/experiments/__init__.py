"""Experiments: many conversations by a plan, priced before they begin and run in a worker."""
