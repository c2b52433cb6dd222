"""Files, folders, patterns and partitions are the same blocks of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdfa_fairness_plugin.dask.blocks import chunks_of, open_source
from mdfa_fairness_plugin.exceptions import DataNotFoundError, InputError, InputTypeError

pytest.importorskip("dask.dataframe")


def test_a_column_that_changes_its_kind_is_refused(frame, audit_source, tmp_path):
    """Numbers in the first file, text in the second."""
    frame.to_parquet(tmp_path / "a.parquet")
    frame.assign(x1=frame["x1"].astype(str) + " cm").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"column 'x1' is .*string in .*b\.parquet and double"):
        audit_source(tmp_path)


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    """Four Parquet files, the town a categorical of other levels in each."""
    where = tmp_path_factory.mktemp("parts")
    for i, part in enumerate(np.array_split(np.arange(len(frame)), 4)):
        own = frame.iloc[part].assign(comment="never read")
        own["town"] = own["town"].astype("category")
        own.to_parquet(where / f"part-{i}.parquet", row_group_size=700)
    (where / "_SUCCESS").write_text("")
    return where


def test_files_a_folder_a_pattern_and_a_list_are_the_same(audit_source, folder):
    features = ["x1", "x2", "town"]
    ways = [
        folder,
        str(folder / "part-*.parquet"),
        sorted(folder.glob("*.parquet")),
        [str(folder / "part-0.parquet"), str(folder / "part-[123].parquet")],
    ]
    texts = {audit_source(way, features=features).to_json() for way in ways}
    assert len(texts) == 1


def test_parquet_and_partitions_are_read_alike(frame, folder):
    columns = ("x1", "x2", "town", "race", "denied")
    blocks = open_source(folder).blocks(columns)
    chunks = [chunk for block in blocks for chunk in chunks_of(block, 300)]
    assert max(len(chunk) for chunk in chunks) <= 300
    read = pd.concat([chunk.astype({"town": str}) for chunk in chunks], ignore_index=True)
    pd.testing.assert_frame_equal(read, frame[list(columns)], check_dtype=False)


def test_only_the_columns_needed_are_read(folder):
    source = open_source(folder)
    assert "comment" in source.columns
    for chunk in chunks_of(source.blocks(("x1", "race"))[0], 1000):
        assert list(chunk.columns) == ["x1", "race"]


def test_files_that_are_not_there_or_differ(audit_source, folder, tmp_path):
    with pytest.raises(DataNotFoundError, match="no file matches"):
        audit_source(str(tmp_path / "*.parquet"))
    with pytest.raises(DataNotFoundError, match="no such file"):
        audit_source(tmp_path / "nothing.parquet")
    with pytest.raises(DataNotFoundError, match="holds no file"):
        audit_source(tmp_path)
    whole = pd.read_parquet(folder / "part-0.parquet")
    whole.to_parquet(tmp_path / "a.parquet")
    whole.drop(columns="x2").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet has no column 'x2'"):
        audit_source(tmp_path)
    (tmp_path / "b.parquet").write_text("no Parquet")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        audit_source(tmp_path / "b.parquet")


def test_what_is_no_source_is_refused(frame, audit_source):
    with pytest.raises(InputTypeError, match=r"dask\.dataframe\.from_pandas"):
        audit_source(frame)
    with pytest.raises(InputTypeError, match="int found"):
        audit_source(3)
