"""Comparisons in, ratings out.

The ratings solve systems of a few hundred unknowns, in which threads gain nothing. Left alone, OpenBLAS starts one a
core in every process, and these spin against each other: a fit of 10 ms was measured to take 2 s on a busy machine.
It reads the variable when NumPy is first imported, hence here.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
