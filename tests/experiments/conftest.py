"""What every experiment must keep to."""

from __future__ import annotations

import math

import pytest


@pytest.fixture
def check():
    """Every figure either agrees with the paper or says why not, and none is lost."""

    def check(reproduction):
        assert reproduction.comparisons
        for one in reproduction.comparisons:
            assert one.agrees or one.why, f"{one.quantity}, {one.reading}: differs without a reason"
            assert not (math.isnan(one.paper) and math.isnan(one.ours)), one
        keys = [(one.quantity, one.reading) for one in reproduction.comparisons]
        assert len(set(keys)) == len(keys)
        assert len(reproduction.runs)
        assert reproduction.title in reproduction.to_text()
        return reproduction

    return check
