"""Which columns are texts, and first rows that are no headers: no word of one is passed on or quoted."""

from pathlib import Path
from typing import Any

import pytest
from stream_helpers import columns, refusal, through

from trlap.errors import TrlapError
from trlap.privatize.columns import Columns, columns_from

NO_HEADER = "the first row looks like data; if there is no header, add header=false column=N"
FIRST = "1,The waiter was rude,neg\n2,Lovely soup,pos\n"


@pytest.mark.parametrize(
    ("content", "column", "message"),
    [
        # what somebody meets who does not know that the file has no header
        (FIRST, "text", NO_HEADER),
        (FIRST, "The waiter was rude", NO_HEADER),
        (FIRST, "neg", NO_HEADER),
        (FIRST, "1", NO_HEADER),
        (FIRST, "2", NO_HEADER),
        ("The waiter was rude,neg\n", "The waiter was rude", NO_HEADER),
        ("The waiter was rude,neg\n", "text", "no column 'text' among 2 columns; set column="),
        ("The waiter was rude,neg\n", "waiter was", "no such column among 2 columns"),
        ("The waiter was rude\n", "text", "among 1 column;"),
        ("waiter,rude.\n", "rude.", NO_HEADER),
        ("waiter!,rude\n", "waiter!", NO_HEADER),
        ("waiter" + "r" * 40 + ",rude\n", "waiter" + "r" * 40, NO_HEADER),
        ("waiter,2024-01-31,rude\n", "waiter", NO_HEADER),
        ("waiter,10:30,rude\n", "waiter", NO_HEADER),
        ("waiter,$7.50,rude\n", "waiter", NO_HEADER),
        ("waiter,-3,rude\n", "waiter", NO_HEADER),
        ("waiter,rude,rude\n", "waiter", "two columns have one name"),
        ("waiter,waiter\n", "waiter", "two columns have one name"),
        ("waiter rude,neg\nsoup,pos\nLovely,neg\n", "waiter rude", NO_HEADER),
        ("waiter\nsoup\n\nwaiter\n", "waiter", NO_HEADER),
        ("\n\n1,The waiter was rude\n", "text", NO_HEADER),
        ("waiter rude\n1 2\n", "text", "among 1 column; set column=, or if there is no header"),
    ],
)
@pytest.mark.parametrize("kind", [".csv", ".tsv"])
def test_a_first_row_of_data_is_refused_and_not_quoted(
    tmp_path: Path, kind: str, content: str, column: str, message: str
) -> None:
    content = content.replace(",", "\t") if kind == ".tsv" else content
    line = refusal(tmp_path, kind, content, columns(column))
    assert message in line
    for word in ("waiter", "rude", "Lovely"):
        assert word not in line


@pytest.mark.parametrize(
    ("header", "column"),
    [
        ("id,text", "text"),
        ("id,Review Text", "Review Text"),
        (",text", "text"),
        (",,text", "text"),
        ("q1,rating_2,text", "text"),
        ("How satisfied are you with our service?,text", "text"),
        ("größe,Anmerkung", "Anmerkung"),
    ],
)
def test_headers_that_are_names(tmp_path: Path, header: str, column: str) -> None:
    row = "a," * header.count(",")
    found = through(tmp_path, ".csv", f"{header}\n{row}the soup\n", columns(column))
    assert found.decode() == f"{header}\n{row}THE SOUP\n"


def test_without_a_header_the_first_row_is_privatised(tmp_path: Path) -> None:
    found = through(tmp_path, ".csv", FIRST, columns("2", header=False)).decode()
    assert found == "1,THE WAITER WAS RUDE,neg\n2,LOVELY SOUP,pos\n"
    line = refusal(tmp_path, ".csv", FIRST, columns("2", "4", header=False))
    assert line.endswith("there is no column 4; it has 3")


def test_names_are_listed_where_they_are_names(tmp_path: Path) -> None:
    line = refusal(tmp_path, ".csv", "id,comment\n1,a\n")
    assert line.endswith("no column 'text'; it has id, comment; set column=")
    many = ",".join(f"c{i}" for i in range(30))
    assert refusal(tmp_path, ".csv", f"{many}\n").endswith("c18, c19, …; set column=")


@pytest.mark.parametrize(
    ("column", "header", "names"),
    [
        ("text", True, ("text",)),
        ("a,b", True, ("a,b",)),
        (["a", "b"], True, ("a", "b")),
        (2, True, ("2",)),
        (2, False, ("2",)),
        ("2", False, ("2",)),
        ([1, 3], False, ("1", "3")),
    ],
)
def test_columns_as_a_config_has_them(column: Any, header: bool, names: tuple[str, ...]) -> None:
    assert columns_from(column, header) == Columns(names, header)


@pytest.mark.parametrize(
    ("column", "header", "message"),
    [
        (None, True, "give the name of a column"),
        ([], True, "give the name of a column"),
        ("", True, "give the name of a column"),
        (["a", None], True, "give the name of a column"),
        ([["a"]], True, "give the name of a column"),
        ({"a": 1}, True, "give the name of a column"),
        (True, True, "give the name of a column"),
        (["a", "a"], True, "named twice"),
        ([1, "1"], False, "named twice"),
        ("text", False, "header=false: give column=N"),
        (0, False, "header=false: give column=N"),
        (-1, False, "header=false: give column=N"),
        (1.5, False, "header=false: give column=N"),
        ("²", False, "header=false: give column=N"),
        ([1, "b"], False, "header=false: give column=N"),
    ],
)
def test_bad_columns(column: Any, header: bool, message: str) -> None:
    with pytest.raises(TrlapError, match=message):
        columns_from(column, header)
