"""Work on several threads, without more of them than there are cores."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import joblib
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_n_inside = 0
_own = threading.local()  # how often the thread is inside
# Threads of each library of linear algebra when the first of those now inside came.
_before: list[int] = []
# Of how many modules the libraries were looked for, and what was found.
_known: tuple[int, ThreadpoolController] | None = None


def _libraries(user_api: str) -> ThreadpoolController:
    """Native libraries of a kind; looking for them takes as long as fitting a small model."""
    global _known
    known, n_modules = _known, len(sys.modules)  # what loads one comes with a module
    if known is None or known[0] != n_modules:
        _known = known = (n_modules, ThreadpoolController())
    return known[1].select(user_api=user_api)


def _begin_child() -> None:
    """After a fork: of those inside only the thread that forked is left, and nobody has the lock."""
    global _lock, _n_inside
    _lock = threading.Lock()
    _n_inside = getattr(_own, "depth", 0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """While any thread is inside, linear algebra keeps to one thread; then it is as it was before.

    Sums of several threads are rounded in another order than those of one, and a last digit decides
    which of two equal cuts a tree makes. So an audit's linear algebra is done by one thread, and its
    answer does not depend on the cores of the machine nor on other audits of the same process. The
    limit is the process's: the first to enter sets it, the last to leave lifts it, whichever threads
    they are.
    """
    global _before, _n_inside
    blas = _libraries("blas").lib_controllers
    with _lock:
        if _n_inside == 0:
            # A child may have begun while they were limited: they are what they were before that.
            _before = _before or [library.num_threads for library in blas]
            _set_threads(blas, [1] * len(blas))
        _n_inside += 1
    _own.depth = getattr(_own, "depth", 0) + 1
    try:
        yield
    finally:
        _own.depth -= 1
        with _lock:
            _n_inside -= 1
            if _n_inside == 0:
                _set_threads(blas, _before)
                _before = []


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Numerical libraries keep to one thread for the one inside: several of them share the work."""
    # OpenMP's limit is of the thread that sets it; one for all libraries would be lifted by the first
    # thread to leave, and left by the last as another had set it.
    with one_blas_thread(), _libraries("openmp").limit(limits=1):
        yield


def _set_threads(libraries: Sequence[Any], numbers: Sequence[int]) -> None:
    """Set limits whichever thread set the last ones, and hold none of them afterwards."""
    for library, n_threads in zip(libraries, numbers, strict=False):
        # Since threadpoolctl 3.8 OpenBLAS obeys one thread at a time, until that lets go.
        let_go = getattr(library, "clear_controlling_thread", None)
        if let_go is not None:
            let_go(force=True)
        library.set_num_threads(n_threads)
        if let_go is not None:
            let_go(force=True)


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
    several models, or blocks of rows, share no lock. ``n_jobs`` is -1 for all cores; None is one thread
    for few rows, and for many what OpenMP would use here, as told by ``OMP_NUM_THREADS``, by
    ``threadpool_limits``, or by joblib in its own workers, so that nested work does not ask for more
    than there are cores. Results are in the order of the arguments, whatever ``n_jobs``.
    """
    calls = list(arguments)
    # Of all libraries a limit would also restore what it did not set.
    openmp = _libraries("openmp")
    if n_jobs is None and n_rows < MANY_ROWS:
        n_jobs = 1
    if n_jobs is None:
        known = (one.num_threads for one in openmp.lib_controllers)
        n_jobs = min(known, default=joblib.cpu_count())

    def call(own: tuple[Any, ...]) -> Any:
        # OpenMP's limit is of the thread that sets it, so each sets its own.
        with openmp.limit(limits=1):
            return function(*own)

    with one_blas_thread():
        return Parallel(n_jobs=min(n_jobs, max(len(calls), 1)), require="sharedmem")(
            delayed(call)(own) for own in calls
        )
