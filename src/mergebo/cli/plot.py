"""`mergebo plot`: plot a study."""

from __future__ import annotations

import re
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mergebo.cli.options import DEFAULT_STORAGE, Name, Storage
from mergebo.cli.output import Json, echo, print_json, warn, writing
from mergebo.errors import ArgumentError


class What(StrEnum):
    """Plots of a study."""

    CONVERGENCE = "convergence"
    PRECEDENCE = "precedence"
    POSITIONS = "positions"
    NEIGHBOURS = "neighbours"
    MODEL = "model"
    ALL = "all"


def plot(
    what: Annotated[What, typer.Argument(help="Which plot; `all` makes a page with all of them.")] = What.ALL,
    out: Annotated[Path | None, typer.Option(help="Output file, which ends in .png, .svg, .pdf or .html.")] = None,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = "",
    as_json: Json = False,
) -> None:
    """Plot the convergence, what good orders have in common, and what the model has learned.

    Without `--out`, the file is named after the study: an HTML page with all plots, or a PNG of a single one.

    Exit code 1 if there are no results yet.

    Example: `mergebo plot precedence --out before.png`
    """
    from mergebo.studies import load

    study = load(storage, name)
    stem = re.sub(r"[^\w.-]+", "-", study.name).strip(".-") or "study"
    path = out or Path(f"{stem}.html" if what == What.ALL else f"{stem}-{what}.png")
    suffix = path.suffix.lower()
    if suffix not in (".png", ".svg", ".pdf", ".html"):
        raise ArgumentError(f"the file of a plot must end in .png, .svg, .pdf or .html, got {path.name!r}")
    if what == What.ALL and suffix != ".html":
        raise ArgumentError(
            f"all plots together need an HTML page, such as {path.with_suffix('.html').name!r}; "
            "or choose one plot, such as `precedence`"
        )
    if not study.completed():
        warn(f"the study {study.name!r} has no results yet; there is nothing to plot")
        raise typer.Exit(1)
    from mergebo.plots.study import PLOTS, page

    plots = [each.value for each in What if each != What.ALL]
    with writing(path) as file, warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")  # in the names of items
        if suffix == ".html":
            file.write_text(page(study, plots if what == What.ALL else [what.value]), encoding="utf-8")
        else:
            PLOTS[what.value](study).savefig(file)
    if as_json:
        print_json({"study": study.name, "file": str(path)})
    else:
        echo(str(path))
