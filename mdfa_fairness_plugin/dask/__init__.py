"""Audits of rows that do not fit in memory."""

from __future__ import annotations

from mdfa_fairness_plugin.dask.auditing import DaskAuditResult, audit_dask

__all__ = ["DaskAuditResult", "audit_dask"]
