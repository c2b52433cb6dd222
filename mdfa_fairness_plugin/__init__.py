"""Find the subgroup a black-box classifier discriminates against most."""

__version__ = "0.1.0"
