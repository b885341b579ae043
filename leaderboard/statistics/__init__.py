"""Judgements in, numbers with honest uncertainty out. Pure: NumPy and SciPy, no Django, no app; every result is frozen.

Data: `types` (Counts: aggregated comparisons), `ballots` (comparisons that belong together), `rankings`, `pairs`,
`connectivity` (who can be compared with whom). Ratings: `bradley_terry` (the board's), `davidson` (ties as an outcome),
`plackett_luce` (rankings), `covariates` with `style_control` and `position`, `personal`, `elo`, `win_rate`.
Uncertainty: sandwich intervals in each fit, `bootstrap` with `resampling`, `ranks` (simultaneous, tiers), `sequential`
(holds while votes come in). Besides: `anomaly` (odd voters), `newton` (the maximiser).
"""
