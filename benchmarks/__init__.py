"""Side by side with the peers: problems we did not write, one judge for all, one command.

``python -m benchmarks.run --help`` says how to run it; ``benchmarks/RESULTS.md`` is what it last wrote.
Beside it, :mod:`.speed` times our own code against what it replaces, and :mod:`.study_check` counts how often
the study's check is right. Nothing here is part of the installed package.
"""

import os

# CPU time is summed over threads, and idle BLAS threads spin: one thread for every solver. Set before NumPy
# is imported, here and, inherited, in the worker processes.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
