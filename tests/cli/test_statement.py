"""``--statement``: a TOML file with what those who answer for an audit state of it."""

import pytest

TOML = """\
system = "Scorer <1>"
audit_date = 2026-02-01
threshold = 0.8
sensitive_source = ["self-reported", "observed"]
"""
TABLE = "race,age,approved\n" + "a,20,yes\nb,30,no\na,40,yes\nb,50,no\n" * 5


@pytest.fixture
def ask(tmp_path, mdfa):
    """Run an audit of a small table with a file of this text."""
    table, path = tmp_path / "loans.csv", tmp_path / "statement.toml"
    table.write_text(TABLE, encoding="utf-8")

    def run(text, *more):
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        given = (table, "--outcome", "approved", "--sensitive", "race", "--statement", path)
        return mdfa("audit", *given, *more)

    return run


def test_it_reaches_the_audit(ask, fake_audit):
    result = ask(TOML)
    assert result.exit_code == 0, result.stderr
    told = {key: str(value) for key, value in fake_audit.call["statement"].items()}
    assert told["system"] == "Scorer <1>"
    assert told["audit_date"] == "2026-02-01"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('sytem = "x"', "--statement: 'sytem' is unknown. Did you mean 'system'?"),
        ("system = ", "statement.toml is no TOML that can be read"),
        ("\udce9", "statement.toml is no TOML that can be read"),
        ("system = true", "--statement: system: a text, a date"),
    ],
)
def test_what_is_wrong_is_named(ask, text, said):
    result = ask(text)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
