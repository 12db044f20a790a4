"""What commands print."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from mergebo.cli.output import sparkline, writing
from mergebo.errors import ArgumentError


def test_sparkline() -> None:
    assert sparkline([]) == ""
    assert sparkline([3.0]) == "▁"
    assert sparkline([2, 2, 2]) == "▁▁▁"
    assert sparkline([0, 7, 3]) == "▁█▄"
    assert sparkline([1e300, -1e300]) == "█▁"
    long = sparkline(range(1000), 40)
    assert (len(long), long[0], long[-1]) == (40, "▁", "█")
    assert list(long) == sorted(long)


def test_a_file_is_replaced_only_once_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    path.chmod(0o640)

    def fill_the_disk() -> None:
        with writing(path) as file:
            file.write_text("half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ArgumentError, match="No space left"):
        fill_the_disk()
    assert (path.read_text(), [*tmp_path.iterdir()]) == ("old", [path])
    with writing(path) as file:
        assert file.suffix == ".csv"
        file.write_text("new")
    assert (path.read_text(), [*tmp_path.iterdir()]) == ("new", [path])
    assert path.stat().st_mode & 0o777 == 0o640
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    with writing(link) as file:
        file.write_text("newer")
    assert link.is_symlink()
    assert path.read_text() == "newer"


def test_devices_are_written_in_place() -> None:
    with (
        pytest.raises(ArgumentError, match="/dev/full cannot be written: No space left"),
        writing(Path("/dev/full")) as file,
    ):
        file.write_text("x")
    with writing(Path("/dev/null")) as file:
        file.write_text("x")
    assert Path("/dev/null").is_char_device()
