"""Published figures of MergeBO (Xie & Chen, ICLR 2026), with the units of its tables multiplied out.

Regret after the budget and AUC are quoted for each of its problems; its sign tests are not. Only qap:chr15a is the same
instance here. For the other problems, the order of methods can be compared, but not the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PUBLISHED", "PublishedResult"]


@dataclass(frozen=True)
class PublishedResult:
    """One cell of Table 1 or 2."""

    regret: float
    deviation: float | None
    """Standard deviation of the regret over seeds, where published."""
    auc: float


def _row(
    unit: float, auc_unit: float, **cells: tuple[float, float] | tuple[float, float, float]
) -> dict[str, PublishedResult]:
    """Cells (regret, AUC) or (regret, deviation, AUC) by method, in the units of the table."""
    return {
        method.replace("_", "-"): PublishedResult(
            cell[0] * unit, cell[1] * unit if len(cell) == 3 else None, cell[-1] * auc_unit
        )
        for method, cell in cells.items()
    }


SAME_DATA = ("qap:chr15a",)
"""Problems that are the instance of the paper."""

PUBLISHED: dict[str, dict[str, dict[str, PublishedResult]]] = {
    "paper-low": {
        "TSP n=15": _row(
            1,
            1,
            mergebo=(0.077, 0.125, 527.6),
            bops_h=(0.013, 0.039, 428.2),
            bops_random=(0.329, 559.7),
            turbo=(1.213, 877.2),
            spearman=(0.026, 397.1),
        ),
        "QAP n=15": _row(
            1e3,
            1e5,
            mergebo=(14.9, 5.5, 38.3),
            bops_h=(8.1, 4.1, 27.5),
            bops_random=(18.1, 42.5),
            turbo=(14.2, 46.7),
            spearman=(10.2, 31.8),
        ),
        "Floor planning n=30": _row(
            1,
            1,
            mergebo=(24.0, 9.7, 8097.5),
            bops_h=(30.1, 12.8, 8665.7),
            bops_random=(35.7, 9481.0),
            turbo=(20.5, 5932.1),
            spearman=(34.6, 9187.7),
        ),
        "Cell placement n=30": _row(
            1,
            1,
            mergebo=(6.1, 2.2, 5495.6),
            bops_h=(6.1, 3.0, 5350.5),
            bops_random=(52.15, 13970.8),
            turbo=(33.85, 10340.5),
            spearman=(1.5, 4673.4),
        ),
    },
    "paper-high": {
        "TTP1 m=279": _row(
            1e3, 1e5, mergebo=(23.0, 11.3, 20.5), bops_h=(88.9, 7.5, 48.5), turbo=(54.8, 40.0), spearman=(88.7, 48.2)
        ),
        "TTP2 m=837": _row(
            1e4, 1e6, mergebo=(14.9, 7.2, 12.3), bops_h=(56.5, 6.1, 30.5), turbo=(36.8, 25.9), spearman=(56.2, 30.3)
        ),
        "TTP3 m=837": _row(
            1e4, 1e6, mergebo=(8.0, 3.2, 6.7), bops_h=(28.1, 2.8, 15.2), turbo=(19.1, 13.2), spearman=(28.4, 15.3)
        ),
    },
}
"""By suite, group of the case, and method: Table 1 (low-dimensional) and Table 2 (high-dimensional)."""
