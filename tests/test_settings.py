"""Arguments are checked before any data are looked at."""

from __future__ import annotations

import pytest

from mdfa_fairness_plugin.exceptions import InputError
from mdfa_fairness_plugin.settings import Settings


@pytest.mark.parametrize(
    ("option", "value"),
    [("missing", "drop"), ("weight_type", "none"), ("min_group_size", 0), ("min_group_size", 2.5)],
)
def test_options_are_checked(option, value):
    with pytest.raises(InputError, match=f"^{option}: .* expected, {value!r} found"):
        Settings.checked(**{option: value})
