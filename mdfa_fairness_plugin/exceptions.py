"""Errors and warnings, each with its own class so that users can catch or filter it."""

from __future__ import annotations

import logging
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

_PACKAGE_ROOT = str(Path(__file__).resolve().parent)


class MDFAError(Exception):
    """Base class of every error this package raises on purpose."""


class InputError(MDFAError, ValueError):
    """An argument has a value the audit cannot work with."""


class InputTypeError(MDFAError, TypeError):
    """An argument has a type the audit cannot work with."""


class NothingToAuditError(InputError):
    """The outcome is constant, so no group can be treated differently."""


class OverlapError(MDFAError, ValueError):
    """The compared groups share too little ground for any weights to balance them."""


class OptionalDependencyError(MDFAError, ImportError):
    """A feature needs a package that is not installed."""


class DataNotFoundError(MDFAError, FileNotFoundError):
    """A data set is neither on disk nor reachable."""


class MDFAWarning(UserWarning):
    """Base class of every warning this package emits."""


class MissingSensitiveWarning(MDFAWarning):
    """Rows with a missing sensitive value were left out."""


class LeakedFeatureWarning(MDFAWarning):
    """An audited feature repeats a sensitive one and was dropped."""


class FeatureWarning(MDFAWarning):
    """A feature could not be used as it was given."""


class SmallGroupWarning(MDFAWarning):
    """A group is too small to audit; it is listed as insufficient evidence."""


class WeightWarning(MDFAWarning):
    """Weights were read in a way the user may not have meant."""


class OverlapWarning(MDFAWarning):
    """Some rows have no comparable row in the other group."""


class SearchWarning(MDFAWarning):
    """A search ended before it was done."""


class BalanceWarning(MDFAWarning):
    """The groups could not be balanced as well as asked."""


@dataclass(frozen=True)
class AuditWarning:
    """One caveat, as the result keeps it.

    Parameters
    ----------
    category : str
        Name of the warning class, or of the notice.
    message : str
        What the user was told.
    """

    category: str
    message: str


class WarningLog:
    """Collects the caveats of one audit, so that the report repeats them."""

    def __init__(self) -> None:
        self._records: list[AuditWarning] = []

    @property
    def records(self) -> tuple[AuditWarning, ...]:
        """Everything said so far, in order, without repeats."""
        return tuple(dict.fromkeys(self._records))

    def warn(self, category: type[MDFAWarning], message: str) -> None:
        """Emit a warning at the user's line and keep it."""
        self._records.append(AuditWarning(category.__name__, message))
        warnings.warn(message, category, stacklevel=_stacklevel_of_caller())

    def note(self, category: str, message: str) -> None:
        """Keep a notice that needs no warning."""
        self._records.append(AuditWarning(category, message))
        logger.info("%s: %s", category, message)


def _stacklevel_of_caller() -> int:
    """Frames up to the first one outside this package and scikit-learn."""
    level = 2
    frame = sys._getframe(level)
    while frame.f_back is not None:
        filename = frame.f_code.co_filename
        if not (filename.startswith(_PACKAGE_ROOT) or "/sklearn/" in filename.replace("\\", "/")):
            break
        frame = frame.f_back
        level += 1
    return level
