"""Work on threads: the same answers for any number of them, and limits left as they were."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mdfa_fairness_plugin import audit
from mdfa_fairness_plugin.datasets import make_synthetic
from mdfa_fairness_plugin.numerics import threads
from mdfa_fairness_plugin.numerics.threads import MANY_ROWS, in_threads, one_blas_thread


def limits(api=None):
    return {
        one["filepath"]: one["num_threads"]
        for one in threadpool_info()
        if api in (None, one["user_api"])
    }


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, -1])
@pytest.mark.parametrize("n_rows", [10, MANY_ROWS])
def test_results_come_in_the_order_of_the_arguments(n_jobs, n_rows):
    found = in_threads(
        lambda a, b: 10 * a + b, ((i, i + 1) for i in range(7)), n_jobs, n_rows=n_rows
    )
    assert found == [10 * i + i + 1 for i in range(7)]
    assert in_threads(len, [], n_jobs, n_rows=n_rows) == []


def test_few_rows_are_worked_on_by_the_thread_that_asks():
    own = threading.get_ident()
    told = in_threads(lambda _: threading.get_ident(), [(i,) for i in range(4)], None, n_rows=100)
    assert set(told) == {own}


def test_libraries_keep_to_one_thread_inside_and_get_theirs_back():
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            before = limits()
            assert set(before.values()) == {n_threads}
            for n_jobs in (1, 2):
                inside = in_threads(lambda _: limits(), [(0,), (1,)], n_jobs, n_rows=10)
                assert all(set(one.values()) == {1} for one in inside)
                assert limits() == before


def test_limits_come_back_after_an_error():
    before = limits()

    def fail(_):
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        in_threads(fail, [(0,), (1,)], 2, n_rows=10)
    assert limits() == before


def test_limits_come_back_whoever_leaves_first():
    """Two of the caller's threads inside at once, the one that came first leaving first."""
    before = limits()
    entered, left = threading.Event(), threading.Event()

    def second():
        with one_blas_thread():
            entered.set()
            left.wait(10)
            with one_blas_thread():
                pass

    other = threading.Thread(target=second)
    with one_blas_thread():
        assert set(limits("blas").values()) == {1}
        other.start()
        entered.wait(10)
    left.set()
    other.join()
    assert limits() == before
    with threadpool_limits(1):  # nobody is kept from setting limits afterwards
        assert set(limits("blas").values()) == {1}
    assert limits() == before


@pytest.fixture(scope="module")
def data():
    return make_synthetic(10_500, delta=1.0, n_noise_features=1, random_state=0)


def test_an_audit_does_not_depend_on_threads(data):
    """Not on those it is given, on those of the libraries, or on other audits at the same time.

    (On a machine of one core the libraries have one anyway.)
    """

    def one(**options):
        s = data.sensitive_features
        return audit(data.X, data.y, sensitive_features=s, random_state=0, **options).to_json()

    expected = one()
    assert one(n_jobs=2) == expected
    with threadpool_limits(1):
        assert one() == expected
    with threadpool_limits(2):
        assert told_by_two_threads(one) == [expected, expected]


def told_by_two_threads(one):
    told = {}
    threads = [threading.Thread(target=lambda i=i: told.update({i: one()})) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [told[0], told[1]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
@pytest.mark.parametrize("forks_inside", [False, True])
def test_a_forked_child_works_whoever_was_inside(forks_inside):
    """Another thread holds the lock, and one is inside, when the child begins."""
    inside, done = threading.Event(), threading.Event()

    def stay():
        with one_blas_thread(), threads._lock:
            inside.set()
            done.wait(30)

    before = blas_threads()
    other = threading.Thread(target=stay)
    own = one_blas_thread() if forks_inside else contextlib.nullcontext()
    with own:
        other.start()
        assert inside.wait(30)
        child = os.fork()
        if child == 0:  # tell by the status alone, and never come back to the tests
            ok = threads._n_inside == forks_inside
            with one_blas_thread():
                ok &= set(blas_threads()) <= {1}
            ok &= threads._n_inside == forks_inside
            os._exit(0 if ok and (forks_inside or blas_threads() == before) else 1)
        done.set()
        other.join(30)
    for _ in range(300):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0
    assert blas_threads() == before


def blas_threads():
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
