"""Where the files of a data set are looked for, and what is said if they are nowhere."""

from __future__ import annotations

import importlib.util
import logging
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from sklearn import datasets as sklearn_datasets

from mdfa_fairness_plugin.exceptions import DataNotFoundError

logger = logging.getLogger(__name__)

DataHome = str | os.PathLike[str] | None


def log_size(name: str, frame: pd.DataFrame, expected: int) -> None:
    """Say so where a table has not as many rows as it should."""
    if len(frame) != expected:
        logger.info("%s has %d rows where %d were expected.", name, len(frame), expected)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Files of one data set and the places that have them."""

    title: str
    alternatives: tuple[tuple[str, ...], ...]  # sets of files, any of which will do
    files: str  # the same in words
    advice: str
    aif360_folder: str | None = None  # of its raw data
    openml: tuple[str, int] = ("", 0)  # name and version of a table of openml.org
    required: tuple[str, ...] = ()  # columns by which that table is known
    n_columns: int | None = None

    def find(self, data_home: DataHome) -> list[Path] | None:
        """Paths of the first set of files that a folder has in full."""
        for _, folder in self._folders(data_home):
            for names in self.alternatives:
                paths = [folder / name for name in names]
                if all(path.is_file() for path in paths):
                    return paths
        return None

    def fetch(self, data_home: DataHome, download_if_missing: bool) -> tuple[pd.DataFrame, str]:
        """Table of openml.org, checked to be the one expected, and what it is called."""
        if not download_if_missing:
            raise self.not_found(data_home)
        name, version = self.openml
        source = f"openml.org, {name!r} version {version}"
        try:
            logger.info("%s: no local file, asking %s", self.title, source)
            with warnings.catch_warnings():
                # It warns of each failed try; the error below says it once.
                warnings.simplefilter("ignore", UserWarning)
                frame = sklearn_datasets.fetch_openml(
                    name, version=version, as_frame=True, parser="auto", n_retries=1
                ).frame
        except Exception as error:  # Whatever went wrong there, the way out is the same.
            reason = " ".join(str(error).split())[:200]
            told = f"{source} ({type(error).__name__}: {reason})"
            raise self.not_found(data_home, told) from error
        complete = set(self.required) <= set(frame.columns)
        if not complete or self.n_columns not in (None, frame.shape[1]):
            told = f"{source} (its {frame.shape[1]} columns are not the ones expected)"
            raise self.not_found(data_home, told)
        return frame, source

    def not_found(self, data_home: DataHome, also_tried: str | None = None) -> DataNotFoundError:
        """Error that tells what was tried, and how to get the files."""
        tried = [f"{name} ({folder})" for name, folder in self._folders(data_home)]
        if "MDFA_DATA_HOME" not in os.environ:
            tried.append("the environment variable MDFA_DATA_HOME (not set)")
        if also_tried is not None:
            tried.append(also_tried)
        return DataNotFoundError(
            f"{self.title}: found no {self.files}. Tried: {'; '.join(tried)}. {self.advice}, and "
            "pass its folder as data_home or in the environment variable MDFA_DATA_HOME."
        )

    def _folders(self, data_home: DataHome) -> list[tuple[str, Path]]:
        """Where to look, in order: what each place is called, and its path."""
        folders = []
        if data_home is not None:
            folder = Path(data_home).expanduser()
            if not folder.is_dir():
                raise DataNotFoundError(
                    f"data_home: {os.fspath(data_home)!r} is not a folder. Give the folder that "
                    "holds the data files, or None to search the usual places."
                )
            folders.append(("data_home", folder))
        named = os.environ.get("MDFA_DATA_HOME")
        if named:
            folders.append(("MDFA_DATA_HOME", Path(named).expanduser()))
        if self.aif360_folder is not None:
            # Found without importing it: its import is slow and logs warnings.
            spec = importlib.util.find_spec("aif360")
            for location in (spec.submodule_search_locations or []) if spec is not None else []:
                raw = Path(location).joinpath("data", "raw", self.aif360_folder)
                folders.append(("AIF360's raw data", raw))
        return folders
