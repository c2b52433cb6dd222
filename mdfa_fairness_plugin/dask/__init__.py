"""Audits of rows that do not fit in memory, or lie on several machines.

``audit_dask`` reads the rows twice and keeps none of them: first it surveys them and draws a sample to
learn from, then every other row is measured where it lies. The figures are made of sums by the
functions that an audit in memory uses. See its notes.

What 1,000,000,000 rows of 50 features cost
-------------------------------------------
Measured on one core at a time with ``python tests/benchmarks/scaling.py throughput`` (four searches,
50,000 rows learned from), in CPU seconds per million rows:

=====================================  ==========  ===========
..                                     first pass  second pass
=====================================  ==========  ===========
reading 50 numbers a row from Parquet  0.5 to 1.1  0.5 to 1.1
the pass itself, 50 features           1.1         50
the pass itself, 10 features           0.7         43
=====================================  ==========  ===========

Learning takes 35 CPU seconds once. Hence for 1e9 rows of 50 features:

- *Bytes.* Such a row of 32-bit numbers takes 6 bytes a number, 300 in all: 300 GB, read twice, 600 GB.
  At 2 GB/s from the disks of all machines together that is 5 minutes.
- *Cores.* (1 + 1.1 + 1 + 50) s x 1,000 = 53,000 CPU seconds, 15 core hours: a quarter of an hour on 64
  cores, two hours on 8.
- *Memory.* A worker holds some hundred thousand rows at most, whatever the size of a file. The whole
  process of the throughput benchmark, learning and 200,000 rows included, peaked
  at 400 MiB with 10 features and at 780 MiB with 50. What must fit
  besides is one partition of a Dask DataFrame, or a row group of a Parquet file.
- *Network.* The models, some 50 MB, once to each worker; back come the sample and 2,000 partitions'
  sums of 0.7 MB each (with clusters up to 1.6 MB more for every search), merged eight at a time.

Fewer folds (``n_splits=3``) make the second pass cheaper, as every fold has its propensity and outcome
models. So does every tenth row: what more rows add is soon less than what the sample leaves open, see
the notes of ``audit_dask``.
"""

from __future__ import annotations

from mdfa_fairness_plugin.dask.auditing import DaskAuditResult, audit_dask

__all__ = ["DaskAuditResult", "audit_dask"]
