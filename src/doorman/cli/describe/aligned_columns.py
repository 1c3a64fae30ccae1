"""Text in columns that are as wide as their own neighbours need, as Go's tabwriter sets it.

A cell ends with a tab; what follows the last tab of a line is no cell. A column goes on over lines that follow each
other and have a cell there, so that lists of one width stand beside lists of another.
"""

from collections.abc import Sequence
from typing import Final

PADDING: Final = 2


def aligned(lines: Sequence[str]) -> list[str]:
    """
    >>> aligned(["Name:\\tweb", "Status:\\tRunning", "", "a\\tb\\tc"])
    ['Name:    web', 'Status:  Running', '', 'a  b  c']
    """
    cells = [line.split("\t") for line in lines]
    widths: list[list[int]] = [[0] * (len(row) - 1) for row in cells]
    _measure(cells, widths, 0, 0, len(cells))
    return [
        "".join(cell.ljust(width) for cell, width in zip(row[:-1], known, strict=True)) + row[-1]
        for row, known in zip(cells, widths, strict=True)
    ]


def _measure(cells: list[list[str]], widths: list[list[int]], column: int, first: int, end: int) -> None:
    """Of the blocks of a column between two lines, and then of the columns to their right."""
    at = first
    while at < end:
        if len(cells[at]) - 1 <= column:
            at += 1
            continue
        last = at
        while last < end and len(cells[last]) - 1 > column:
            last += 1
        width = max(len(cells[row][column]) for row in range(at, last)) + PADDING
        for row in range(at, last):
            widths[row][column] = width
        _measure(cells, widths, column + 1, at, last)
        at = last
