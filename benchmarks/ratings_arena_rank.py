"""arena-rank's bootstrap of given votes, for comparison: `PYTHON benchmarks/ratings_arena_rank.py VOTES.npz`.

arena-rank pins JAX, so it lives in an environment of its own; this file needs nothing of ours. Prints seconds as JSON.
"""

import json
import multiprocessing
import sys
from time import perf_counter

# The second run shares the start of the workers with the first, so that the difference is that of resamples alone.
FEW, MORE = 2, 8


def main() -> None:
    import numpy as np
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]
    from arena_rank.models.bradley_terry import BradleyTerry  # type: ignore[import-not-found]
    from arena_rank.utils.data_utils import PairDataset  # type: ignore[import-not-found]

    # Forked workers hang once JAX runs threads.
    multiprocessing.set_start_method("spawn")
    votes = np.load(sys.argv[1])
    words = np.array(["model_a", "model_b", "tie"])[votes["outcome"]]
    frame = pd.DataFrame({"model_a": votes["first"], "model_b": votes["second"], "winner": words})
    dataset = PairDataset.from_pandas(frame)
    model = BradleyTerry(len(dataset.competitors))
    model.fit(dataset)
    seconds = []
    for resamples in (FEW, MORE):
        started = perf_counter()
        model.compute_ratings_and_cis(dataset, ci_method="bootstrap", num_bootstrap=resamples)
        seconds.append(perf_counter() - started)
    print(json.dumps({"each": (seconds[1] - seconds[0]) / (MORE - FEW), "start": seconds[0]}))


if __name__ == "__main__":
    main()
