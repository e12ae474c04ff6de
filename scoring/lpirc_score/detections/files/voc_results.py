"""VOC results: a text file for each class, whose name has the class.

Form: `IMAGE CONFIDENCE XMIN YMIN XMAX YMAX`, by the development kit of 2012.
"""

from __future__ import annotations

from pathlib import Path

from lpirc_score.detections import inverted_box, shown
from lpirc_score.detections.files.findings import INVERTED, refuse
from lpirc_score.detections.files.forms import NAME_OF_VOC, OF_VOC, Recognised
from lpirc_score.detections.files.names import Finders
from lpirc_score.detections.files.several_files import Read, Row, RowOf, read_rows_of
from lpirc_score.detections.files.text import are_numbers, lines_of_any, numbers
from lpirc_score.metrics.detection_columns import Detections
from lpirc_testsets.folder_content import voc_results_class


def read_voc_results(
    found: Recognised,
    finders: Finders,
    inverted_boxes: bool,
) -> Read:
    """Read VOC results. A text file beside them of another name is refused if it has such lines, else left out.

    Raises `CodedError` `bad-detections` with the problems of all files, `unreadable-file`.
    """

    def rows_of(file: Path) -> RowOf:
        name = voc_results_class(file) or ""
        category = _category_of(name, finders)

        def row(cells: list[str], line: int) -> Row:
            if len(cells) != len(OF_VOC.split()):
                raise ValueError(f"{len(cells)} values, not {OF_VOC}")
            image = finders.images.by_name(cells[0], line)
            confidence, *corners = numbers(cells[1:])
            values = (image, category, confidence, *corners)
            if values[5] < values[3] or values[6] < values[4]:
                if not inverted_boxes:
                    raise ValueError(inverted_box(values))
                value = inverted_box(values).partition(":")[0]
                finders.images.findings.note(INVERTED, line, value)
            return values

        return row

    left_out = tuple(map(_left_out, found.others))
    rows, warnings = read_rows_of(found.files, finders, rows_of)
    return Read(Detections.from_rows(rows), (*warnings, *left_out))


def _left_out(file: Path) -> str:
    """Return the warning about a text file beside VOC results. Raises `CodedError` if it has results."""
    for line, cells in lines_of_any(file):
        if len(cells) == len(OF_VOC.split()) and are_numbers(cells[1:]):
            refuse(
                file,
                f"line {line}: these are VOC results, but its name is not like {NAME_OF_VOC}: rename it",
            )
    return f"{file}: left out, since its name is not like {NAME_OF_VOC}"


def _category_of(name: str, finders: Finders) -> int:
    try:
        return finders.categories.by_name(name, 1)
    except ValueError:
        hint = finders.categories.names.hint(name)
        raise ValueError(
            f"the class {shown(name)} in the file's name is not a category of the ground truth{hint}"
        ) from None
