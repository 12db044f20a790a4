"""`mergebo new`: create a study whose trials are evaluated by hand."""

from __future__ import annotations

from typing import Annotated

import typer

from mergebo.cli.options import (
    DEFAULT_STORAGE,
    Directions,
    Initial,
    Method,
    Noisy,
    Seed,
    SpaceOptions,
    Storage,
    check_directions,
    with_space_options,
)
from mergebo.cli.output import Json, echo, print_json


@with_space_options
def new(
    options: SpaceOptions,
    name: Annotated[str, typer.Argument(envvar="MERGEBO_STUDY", help="Name of the study.")] = "study",
    storage: Storage = DEFAULT_STORAGE,
    direction: Directions = None,
    method: Method = "auto",
    initial: Initial = 20,
    noisy: Noisy = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Create a study whose trials you evaluate yourself, with `ask` and `tell`.

    Example: `mergebo new --items base,acid,salt,water --before water:acid --real heat=20:80 --direction maximize`
    """
    from mergebo.studies import StudyConfig, create

    config = StudyConfig(options.space(), method, seed, initial, noisy)
    study = create(storage, name, config, check_directions(direction))
    if as_json:
        print_json({"study": study.name, "storage": study.url, "directions": study.directions, **config.to_data()})
        return
    objectives = "" if len(study.directions) == 1 else f" with {len(study.directions)} objectives"
    echo("Created the study '", (study.name, "bold"), f"'{objectives} in {study.url}.")
    echo(f"`{study.command_line('ask')}` proposes the first trial.")
