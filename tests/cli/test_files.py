"""Files as they come: pipes, nested columns, repeated names, unlike parts, fine clocks."""

from __future__ import annotations

import gzip
import os
import threading

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.cli.request import Request
from mdfa_fairness_plugin.cli.table import read_table
from mdfa_fairness_plugin.dask.blocks import chunks_of, open_source

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("dask")

N = 60
BASE = {
    "age": pa.array(range(N)),
    "sex": pa.array(["f", "m"] * (N // 2)),
    "y": pa.array([0, 1, 1] * (N // 3)),
}
TAGS = pa.array([[i % 3] for i in range(N)])
CLOCK = pa.array([i * 10**12 + 1 for i in range(N)]).cast(pa.time64("ns"))
STAMP = pa.array([i * 10**15 + 1 for i in range(N)]).cast(pa.timestamp("ns"))
ROLES = ("--outcome", "y", "--sensitive", "sex", "--quiet")


def write(path, columns, *more):
    """A Parquet file of these columns, and more with the name of the first."""
    path.parent.mkdir(exist_ok=True)
    arrays, names = [*columns.values(), *more], [*columns, *[next(iter(columns))] * len(more)]
    pq.write_table(pa.Table.from_arrays(arrays, names=names), path)
    return path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("name", ["rows.csv", "rows", "rows.csv.gz", "rows.parquet", "parquet"])
def test_a_pipe_is_read_once(tmp_path, name):
    """With a name that tells what comes through it, or none, as the shell's own have."""
    path, pipe = tmp_path / "file", tmp_path / "pipes" / name
    pipe.parent.mkdir()
    text = b"zip,age,y\n02139,1,0\n10001,2,1\n"
    if "parquet" in name:
        write(path, BASE)
    else:
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()), daemon=True)
    writer.start()
    frame = read_table(Request(file=pipe)).frame
    writer.join(10)
    assert len(frame) == (N if "parquet" in name else 2)
    assert "parquet" in name or frame["zip"].tolist() == ["02139", "10001"]


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no such device here")
def test_a_device_is_refused(mdfa):
    result = mdfa("audit", "/dev/zero", *ROLES)
    assert result.exit_code == 2
    assert "/dev/zero: this is a device" in result.stderr


def test_a_name_that_the_shell_made_is_that_of_the_file(tmp_path):
    path, link = tmp_path / "rows.tsv", tmp_path / "stdin"
    path.write_text("age\ty\n1\t0\n2\t1\n")
    link.symlink_to(path)
    assert list(read_table(Request(file=link)).frame) == ["age", "y"]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (BASE | {"tags": TAGS}, BASE | {"tags": TAGS}, "'tags' holds values that cannot be labels"),
        (BASE, BASE | {"age": TAGS}, "'age' is list"),
        (BASE, BASE | {"age": pa.array(["1"] * N)}, "'age' is string in"),
        (BASE, {k: v for k, v in BASE.items() if k != "age"}, "no column 'age'"),
        ({k: v for k, v in BASE.items() if k != "age"}, BASE, "a column 'age', which files before"),
    ],
)
def test_unlike_parts_and_nested_columns_are_named(tmp_path, mdfa, first, second, said):
    write(tmp_path / "rows" / "0.parquet", first)
    write(tmp_path / "rows" / "1.parquet", second)
    result = mdfa("audit", tmp_path / "rows", *ROLES)
    assert result.exit_code == 2
    assert said in result.stderr
    for word in ("ddf", "unexpected", "unhashable", "Arrow", "C error"):
        assert word not in result.stderr


@pytest.mark.parametrize("place", [0, 1])
def test_repeated_names_are_told_of_a_file_and_of_a_folder(tmp_path, mdfa, place):
    files = [tmp_path / "rows" / f"{i}.parquet" for i in (0, 1)]
    for i, file in enumerate(files):
        write(file, BASE, *[BASE["age"]] * (i == place))
    for path in (tmp_path / "rows", files[place]):
        result = mdfa("audit", path, *ROLES)
        assert result.exit_code == 2
        assert f"Error: {path}: column names must differ, but 'age'" in result.stderr
        assert str(files[place]) in result.stderr


def test_clocks_and_times_with_nanoseconds_are_read(tmp_path):
    path = write(tmp_path / "rows" / "0.parquet", {"t": CLOCK, "when": STAMP} | BASE)
    frame = read_table(Request(file=path)).frame
    assert list(frame) == ["t", "when", *BASE]
    assert frame["t"].iloc[3].isoformat() == "00:50:00"
    source = open_source(str(path.parent))
    chunk = next(chunks_of(source.blocks(source.columns)[0], N))
    assert chunk["t"].tolist() == frame["t"].tolist()
    assert (pd.to_datetime(chunk["when"]) == pd.to_datetime(frame["when"])).all()


def test_numbers_that_are_whole_in_the_first_file_only_are_read_whole(tmp_path):
    write(tmp_path / "rows" / "0.parquet", BASE)
    write(tmp_path / "rows" / "1.parquet", BASE | {"age": pa.array(np.arange(N) + 0.5)})
    source = open_source(str(tmp_path / "rows"))
    ages = [next(chunks_of(one, N))["age"].tolist() for one in source.blocks(("age",))]
    assert ages == [list(range(N)), [i + 0.5 for i in range(N)]]


def test_messages_about_rows_of_a_csv_are_free_of_the_parsers_own_words(tmp_path, mdfa):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n1,2\n3,4,5\n")
    result = mdfa("audit", path, "--outcome", "y", "--sensitive", "a")
    assert result.exit_code == 2
    assert "Expected 2 fields in line 3, saw 3" in result.stderr
    assert "C error" not in result.stderr
