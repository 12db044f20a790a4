"""`mergebo plot`: a study in pictures."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mergebo.cli.screen import console
from mergebo.cli.studies import HERE, Name, Storage, load
from mergebo.errors import ArgumentError


class What(StrEnum):
    """Pictures of a study."""

    CONVERGENCE = "convergence"
    PRECEDENCE = "precedence"
    POSITIONS = "positions"
    MODEL = "model"
    ALL = "all"


def plot(
    what: Annotated[What, typer.Argument(help="Which picture; `all` is a page with every one of them.")] = What.ALL,
    out: Annotated[Path | None, typer.Option(help="A file that ends in .png, .svg, .pdf or .html.")] = None,
    storage: Storage = HERE,
    name: Name = "",
) -> None:
    """Draw how the best value went down, what good orders have in common, and what the model believes.

    Without `--out` the file has the name of the study, and is a page (HTML) with all pictures, or a PNG of one.

    Example: `mergebo plot precedence --out before.png`
    """
    from mergebo.cli import pictures

    study = load(storage, name)
    path = out or Path(f"{study.name}.html" if what == What.ALL else f"{study.name}-{what}.png")
    if path.suffix not in (".png", ".svg", ".pdf", ".html"):
        raise ArgumentError(f"a picture is a file that ends in .png, .svg, .pdf or .html, got {path.name!r}")
    if what == What.ALL and path.suffix != ".html":
        raise ArgumentError(
            f"all pictures are a page: {path.with_suffix('.html').name!r}; or say which one, such as `precedence`"
        )
    if not any(trial.state.name == "COMPLETE" for trial in study.trials()):
        raise ArgumentError(f"the study {study.name!r} has no result yet: there is nothing to draw")
    every = [each.value for each in What if each != What.ALL] if what == What.ALL else [what.value]
    if path.suffix == ".html":
        path.write_text(pictures.page(study, every), encoding="utf-8")
    else:
        pictures.DRAWN[what.value](study).savefig(path)
    console().print(f"{path}", markup=False)
