"""Numbers as text."""

from __future__ import annotations

from mergebo.experiments.formatting import THIN, format_fixed, format_number, p_value
from mergebo.experiments.tables import Bold, best_bold


def test_numbers() -> None:
    texts = [format_number(x) for x in (0, 0.123456, -2.5, 999.6, 1234567, 3.21e-7, 100)]
    assert [text.replace(THIN, " ").replace("\N{MINUS SIGN}", "-") for text in texts] == [
        *("0", "0.123", "-2.50", "1 000", "1 230 000", "3.21e-07", "100")
    ]
    assert format_number(float("nan")) == "\N{EN DASH}"
    assert [format_fixed(-0.001), format_fixed(0.25, "+")] == ["0.00", "+0.25"]
    assert p_value(0.0004) == "<0.001"
    assert [type(text) for text in best_bold([(2.0, "2"), (None, "-"), (1.0, "1")])] == [str, str, Bold]
    assert not any(isinstance(text, Bold) for text in best_bold([(2.0, "2"), (None, "-")]))
