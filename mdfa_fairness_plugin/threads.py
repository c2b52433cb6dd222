"""How many threads work on blocks of rows."""

from __future__ import annotations

import joblib
from threadpoolctl import threadpool_info


def row_threads(n_jobs: int | None) -> int:
    """Threads for work on blocks of rows that holds no lock.

    Parameters
    ----------
    n_jobs : int or None
        As asked for; None: as many as numerical libraries would use here. These are told by
        ``OMP_NUM_THREADS`` and ``threadpool_limits``, and by joblib in its own workers, so that
        nested work does not ask for more threads than there are cores.

    Returns
    -------
    n_threads : int
        As joblib reads it, -1 being all cores.
    """
    if n_jobs is not None:
        return n_jobs
    known = [
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "openmp"
    ]
    return min(known, default=joblib.cpu_count())
