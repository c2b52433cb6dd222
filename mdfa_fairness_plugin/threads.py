"""Work on several threads, without more of them than there are cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import joblib
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

# From so many rows on, several threads are quicker than one: at 1,000 rows an audit takes .66 s on
# one and .81 on two.
MANY_ROWS = 20_000


def in_threads(
    function: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    *,
    n_rows: int,
) -> list[Any]:
    """Call a function for several arguments at once, numerical libraries keeping to one thread each.

    A model of few rows is fitted sooner by one thread than by two that wait for each other, and
    several models, or blocks of rows, share no lock.

    Parameters
    ----------
    function : callable
    arguments : iterable of tuple
        Of one call each.
    n_jobs : int or None
        Threads, -1 being all cores. None: one for few rows, and for many what OpenMP would use here,
        as told by ``OMP_NUM_THREADS``, by ``threadpool_limits``, or by joblib in its own workers, so
        that nested work does not ask for more than there are cores.
    n_rows : int
        Rows worked on in all.

    Returns
    -------
    results : list
        In the order of the arguments, whatever ``n_jobs``.
    """
    calls = list(arguments)
    libraries = ThreadpoolController()
    if n_jobs is None and n_rows < MANY_ROWS:
        n_jobs = 1
    if n_jobs is None:
        openmp = libraries.select(user_api="openmp").lib_controllers
        n_jobs = min((one.num_threads for one in openmp), default=joblib.cpu_count())

    def call(own: tuple[Any, ...]) -> Any:
        # OpenMP's limit is of the thread that sets it, so each sets its own.
        with libraries.limit(limits=1, user_api="openmp"):
            return function(*own)

    with libraries.limit(limits=1, user_api="blas"):
        return Parallel(n_jobs=min(n_jobs, max(len(calls), 1)), require="sharedmem")(
            delayed(call)(own) for own in calls
        )
