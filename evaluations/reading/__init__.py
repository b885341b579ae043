"""Reading what came of runs: stored results, answers side by side, agreement of judges, two runs compared."""
