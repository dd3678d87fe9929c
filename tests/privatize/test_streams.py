"""Files of every format: the texts change, and nothing else does, byte for byte."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from stream_helpers import columns, refusal, through, upper

from trlap.privatize import lines
from trlap.privatize import parquet as tables_of_parquet
from trlap.privatize.columns import Columns
from trlap.privatize.streams import batches_of_texts, transform


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BATCH", 3)


BOTH = columns("a", "c")
NUMBERED = columns("1", "3", header=False)


@pytest.mark.parametrize(
    ("kind", "before", "after", "chosen"),
    [
        # line ends of every line, and none at the end
        (".txt", "a\n\nb\r\nc é\nlast", "A\n\nB\r\nC É\nLAST", None),
        (".txt", "\ufeffa\n", "\ufeffA\n", None),
        (".txt", "", "", None),
        (".txt", "\ufeff", "\ufeff", None),
        # what other programs take for an end of a line is a character
        (".txt", "a\x0bb\x0cc\x85d\u2028e\n\x1cf\n", "A\x0bB\x0cC\x85D\u2028E\n\x1cF\n", None),
        (".csv", "text,n\na,1\n", "text,n\nA,1\n", None),
        (".csv", "n,text\r\n1,a\r\n2,b\n3,c", "n,text\r\n1,A\r\n2,B\n3,C", None),
        # quotes stay in other columns; a text has those that the new one needs
        (".csv", '"n","text"\n"1","a"\n', '"n","text"\n"1",A\n', None),
        (".csv", 'n,text,m\n"1",a," x"\n', 'n,text,m\n"1",A," x"\n', None),
        (".csv", 'text\n"say ""a"", b"\n', 'text\n"SAY ""A"", B"\n', None),
        (".csv", 'n,text\n"x\r\ny","two\nlines"\n', 'n,text\n"x\r\ny","TWO\nLINES"\n', None),
        # blank rows, empty texts, spaces
        (".csv", "\n\ntext,n\n\na,1\n\r\n", "\n\ntext,n\n\nA,1\n\r\n", None),
        (".csv", 'n,text\n1,\n2,""\n3,  \n', 'n,text\n1,\n2,""\n3,  \n', None),
        (".csv", 'text\n""\n\n  \n', 'text\n""\n\n  \n', None),
        (".csv", '\ufeff"text",n\na,1\n', '\ufeff"text",n\nA,1\n', None),
        (".csv", "text,n\n", "text,n\n", None),
        (".csv", "n,text,\n1,a,\n", "n,text,\n1,A,\n", None),
        (".csv", 'a,b,c\nx,"y",z\n', 'a,b,c\nX,"y",Z\n', BOTH),
        (".csv", "a,b,c,d\nx,y,z,w\n", "a,b,c,d\nX,y,Z,w\n", BOTH),
        (".csv", "c,a\nx,y\n", "c,a\nX,Y\n", BOTH),
        (".csv", '"a,b",n\nx,y\n', '"a,b",n\nX,y\n', columns("a,b")),
        (".csv", "x y,2,z\nv,3,w\n", "X Y,2,Z\nV,3,W\n", NUMBERED),
        (".tsv", 'text\tlabel\n"he" llo\t1\nsay "hi\t0\n', 'text\tlabel\n"HE" LLO\t1\nSAY "HI\t0\n', None),
        (".tsv", "a\tb\tc\r\n\r\nx\ty\tz", "a\tb\tc\r\n\r\nX\ty\tZ", BOTH),
        (".tsv", "a,b\t1\tx\n", "A,B\t1\tX\n", NUMBERED),
        (".jsonl", '{"text": "é a", "n": 1}\n', '{"text": "É A", "n": 1}\n', None),
        (".jsonl", '{"n":[2],"text":null}\n{"text":""}', '{"n":[2],"text":null}\n{"text":""}', None),
        (
            ".jsonl",
            '\ufeff \n { "x" : 1e400 , "y":1.0,"z": -0,\t"text" :"\\u00e4\\n\\"" } \r\n\r\n',
            '\ufeff \n { "x" : 1e400 , "y":1.0,"z": -0,\t"text" :"Ä\\n\\"" } \r\n\r\n',
            None,
        ),
        # other keys may stand there twice, hold half characters, the text's name, numbers of any length
        (
            ".jsonl",
            '{"n":1,"n":"\\ud800","m":{"text":"b"},"k":' + "9" * 5000 + ',"text":"a"}\n',
            '{"n":1,"n":"\\ud800","m":{"text":"b"},"k":' + "9" * 5000 + ',"text":"A"}\n',
            None,
        ),
        (".jsonl", '{"te\\u0078t":"a\u2028b","l":NaN}\n', '{"te\\u0078t":"A\u2028B","l":NaN}\n', None),
        (".jsonl", '{"c":"x","b":"y","a":"z"}\n', '{"c":"X","b":"y","a":"Z"}\n', BOTH),
    ],
)  # fmt: skip
def test_only_the_texts_change(
    tmp_path: Path, kind: str, before: str, after: str, chosen: Columns | None
) -> None:
    assert through(tmp_path, kind, before, chosen) == after.encode()


def test_many_rows_keep_their_order(tmp_path: Path) -> None:
    rows = [f'{i},"a, {i}",x{i}\n' for i in range(20)]
    content = "id,text,x\n" + "\n".join(rows)
    assert through(tmp_path, ".csv", content).decode() == content.replace('"a', '"A')


def test_new_quotes_do_not_tell_what_the_old_text_held(tmp_path: Path) -> None:
    """A field that needed quotes and one that did not, with the same new text, are written alike."""
    source = tmp_path / "in.csv"
    source.write_text('text,n\n"one, two",1\none two,2\n"one two",3\n')
    for new, written in (("x y", "x y"), ("x , y", '"x , y"'), ('"', '""""')):

        def same(texts: list[str], share: float | None, new: str = new) -> list[str]:
            return [new] * len(texts)

        with (tmp_path / "out.csv").open("wb") as stream:
            transform(str(source), stream, ".csv", columns(), same)
        expected = "".join(f"{written},{n}\n" for n in (1, 2, 3))
        assert (tmp_path / "out.csv").read_text() == "text,n\n" + expected


NOT_UTF8 = "line 2: not UTF-8"
RETURN = "a carriage return inside the line"
OPEN = "line 2: a quotation mark is opened in the row that begins here, and never closed"
MARK = "a quotation mark where none can be"
UNCLOSED = "a field begins with a quotation mark that is not closed in it"
NOT_TEXT = "holds something that is not text"
OBJECT = "line 2: not a JSON object"


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        (".txt", b"ok\n\xff\n", NOT_UTF8),
        (".txt", "ok\nfine".encode("utf-16"), "line 1: not UTF-8"),
        (".txt", "ok\nfine".encode("utf-16-le"), "line 1: a NUL byte"),
        (".txt", "a\nb\rc\n", f"line 2: {RETURN}"),
        (".txt", "a\rb\rc\r", f"line 1: {RETURN}"),
        (".txt", "a\r\r\n", f"line 1: {RETURN}"),
        (".csv", b"text,n\nok,\xe9\n", NOT_UTF8),
        (".csv", "text,n\na,1\nb\0,2\n", "line 3: a NUL byte"),
        (".csv", "text,n\ra,1\rb,2\r", f"line 1: {RETURN}"),
        (".csv", 'text,n\n"a\rb",1\n', f"line 2: {RETURN}"),
        (".csv", 'text,n\n"a,1\nb,2\nc,3\n', OPEN),
        (".csv", "id;text;n\n1;a, b;2\n", "so that these seem to separate the fields"),
        (".csv", "text|n,m\na|b,1\nc|d,2\n", "vertical bars, so that these seem"),
        (".csv", "text\tn\na\t1\n", "tabs, so that"),
        # as programs write it that quote fields: a text with a line feed and a tab in it
        (".tsv", 'id\ttext\n1\t"first line\nsecond\tx"\n', f"line 2: {UNCLOSED}"),
        (".tsv", 'text\tn\n" hello\t1\n', f"line 2: {UNCLOSED}"),
        (".csv", 'text,n\n"a ""b"",1\nc,2', OPEN),
        (".csv", 'text,n\nx,1\n"a,1\nb,2\n"c",3\nd,4\n', f"line 3: {OPEN[8:]}"),
        (".csv", 'text,n\n"a,1\n"b",2\n"c,3\n', f"line 2: {MARK}"),
        (".csv", 'text,n\n5" pipe,1\n6" pipe,2\n', f"line 2: {MARK}"),
        (".csv", 'n,text,m\n1, "the soup, cold"\n', f"line 2: {MARK}"),
        (".csv", 'text,n\n"he said \\", and left",1\n', OPEN),
        (".csv", 'text,n\n"he said \\"no\\", and left",1\n', f"line 2: {MARK}"),
        (".csv", 'text,n\n"he \\", she \\", and left",1\n', f"line 2: {MARK}"),
        (".csv", 'text,n\n"a"b,1\n', f"line 2: {MARK}"),
        (".csv", "text,b\n1,2\n1\n", "line 3: 1 fields, but 2 columns"),
        (".csv", "text,b\na,b,c\n", "line 2: 3 fields, but 2 columns"),
        (".csv", "", "the file is empty"),
        (".csv", "\ufeff\n\n", "the file is empty"),
        (".csv", "text,n,text\na,1,b\n", "two columns have one name"),
        (".csv", "text,n,n\na,1,b\n", "two columns have one name"),
        (".tsv", "n\ttext\na\rb\tc\n", f"line 2: {RETURN}"),
        (".tsv", "text\tn\na b 1\n", "line 2: 1 fields, but 2 columns"),
        (".tsv", "", "the file is empty"),
        (".jsonl", '{"text": "a"}\n{"text": \n', OBJECT),
        (".jsonl", '{"text": "a"}\n{"text": "b"\n', OBJECT),
        (".jsonl", '{"text": "a"}\n{"text": "b"} x\n', OBJECT),
        (".jsonl", '{"text": "a"}\n{"text": "b",}\n', OBJECT),
        (".jsonl", '{"text": "a"}\n{"text" "b"}\n', OBJECT),
        (".jsonl", '{"text": "a"}\n{"text": "a\tb"}\n', OBJECT),
        (".jsonl", '{"text": "a"}\n{"text": "\\x"}\n', OBJECT),
        (".jsonl", '{"text": "a"}\n[1]\n', OBJECT),
        (".jsonl", '{"text": "a"}\n"text"\n', OBJECT),
        (".jsonl", '{"text": "a"}\n\x0b\n', OBJECT),
        (".jsonl", '{"text": "a"}\n{"x": ' + "[" * 100_000 + "\n", OBJECT),
        (".jsonl", '{"txt": "a"}\n', "line 1: no column 'text'; it has txt"),
        (".jsonl", "{}\n", "line 1: no column 'text' among 0 columns"),
        (".jsonl", '{"text": 5}\n', f"line 1: a text column {NOT_TEXT}"),
        (".jsonl", '{"text": {"body": "a"}}\n', NOT_TEXT),
        (".jsonl", '{"text": ["a"]}\n', NOT_TEXT),
        (".jsonl", '{"text": true}\n', NOT_TEXT),
        (".jsonl", '{"text": "a", "text": "b"}\n', "line 1: a text column stands there twice"),
        (".jsonl", '{"text": "a", "te\\u0078t": null}\n', "stands there twice"),
        (".jsonl", '{"text": "a \\ud800"}\n', "line 1: the text holds half a character"),
        (".jsonl", b'{"text": "a \xed\xa0\x80"}\n', "line 1: not UTF-8"),
        (".jsonl", '{"text":\r"a"}\n', RETURN),
        (".jsonl", b'{"text": "ok"}\n{"text": "ok", "n": "\xff"}\n', NOT_UTF8),
        (".parquet", "no", "not a parquet file"),
        (".parquet", "", "not a parquet file"),
    ],
)  # fmt: skip
def test_bad_files_are_one_line(
    tmp_path: Path, kind: str, content: str | bytes, message: str
) -> None:
    line = refusal(tmp_path, kind, content)
    assert message in line
    assert line.startswith(f"{tmp_path}/in{kind}")


def test_a_row_without_end_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trlap.privatize import tables

    monkeypatch.setattr(lines, "LONGEST", 1000)
    monkeypatch.setattr(tables, "LONGEST", 1000)
    assert "longer than" in refusal(tmp_path, ".txt", "a\n" + "b" * 2000)
    assert "line 2: a quotation mark" in refusal(tmp_path, ".csv", 'text\n"a\n' + "b\n" * 1000)


def written(folder: Path, table: pa.Table, chosen: Columns | None = None, rows: int = 4) -> pa.Table:  # fmt: skip
    # names inside of lists as other programs write them
    parquet.write_table(
        table, folder / "table.parquet", row_group_size=rows, use_compliant_nested_type=False
    )
    content = (folder / "table.parquet").read_bytes()
    (folder / "table.parquet").unlink()
    through(folder, ".parquet", content, chosen)
    return parquet.read_table(folder / "out.parquet")


def test_parquet_keeps_types_nulls_and_metadata(tmp_path: Path) -> None:
    count = 10
    words = pa.array([*"abcdefgh", None, ""])
    table = pa.table(
        {
            "n": pa.array(range(count), pa.int16()),
            "text": words,
            "label": pa.array(["x", "y"] * 5).dictionary_encode(),
            "when": pa.array(range(count), pa.timestamp("ns", "UTC")),
            "list": pa.array([[i, None] for i in range(count)], pa.list_(pa.int8())),
            "bytes": pa.array([b"\xff"] * count),
            "long": words.cast(pa.large_string()),
        }
    ).replace_schema_metadata({"pandas": "{}", "mine": "yes"})
    place = table.schema.get_field_index("text")
    field = pa.field("text", pa.string(), metadata={"unit": "word"})
    table = table.cast(table.schema.set(place, field))
    found = written(tmp_path, table, columns("text", "long"))
    expected = [*"ABCDEFGH", None, ""]
    assert found["text"].to_pylist() == found["long"].to_pylist() == expected
    before = parquet.read_table(tmp_path / "in.parquet")
    assert found.schema.equals(before.schema, check_metadata=True)
    assert found.drop(["text", "long"]).equals(before.drop(["text", "long"]))
    groups = parquet.ParquetFile(tmp_path / "out.parquet").metadata
    sizes = [groups.row_group(i).num_rows for i in range(groups.num_row_groups)]
    assert sizes == [4, 4, 2]


def test_large_groups_of_parquet_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables_of_parquet, "GROUP", 7)
    table = pa.table({"text": [f"a{i}" for i in range(20)]})
    found = written(tmp_path, table, rows=100)
    assert found["text"].to_pylist() == [f"A{i}" for i in range(20)]
    assert parquet.ParquetFile(tmp_path / "out.parquet").metadata.num_row_groups == 4


def test_a_dictionary_of_texts_becomes_strings(tmp_path: Path) -> None:
    table = pa.table({"text": pa.array(["a", "b", None, "a"]).dictionary_encode()})
    found = written(tmp_path, table)
    assert found["text"].type == pa.string() and found["text"].to_pylist() == ["A", "B", None, "A"]
    assert b"a" not in (tmp_path / "out.parquet").read_bytes()[4:40]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"text": [1, 2]}), NOT_TEXT),
        (pa.table({"text": [b"a"]}), NOT_TEXT),
        (pa.table({"text": [["a"]]}), NOT_TEXT),
        (pa.table({"text": [{"text": "a"}]}), NOT_TEXT),
        (pa.table({"text": [None]}), NOT_TEXT),
        (pa.table({"text": pa.array([1]).dictionary_encode()}), NOT_TEXT),
        (pa.table([["a"], ["b"]], ["text", "text"]), "two columns have one name"),
        (pa.table({"txt": ["a"], "n": [1]}), "no column 'text'; it has txt, n; set column="),
        (pa.table({"The waiter was rude": ["a"]}), "no column 'text' among 1 column;"),
        (pa.table({"text": pa.array([b"a\xff"]).view(pa.string())}), "the file is damaged"),
    ],
)
def test_bad_parquet_is_one_line(tmp_path: Path, table: pa.Table, message: str) -> None:
    parquet.write_table(table, tmp_path / "table.parquet")
    content = (tmp_path / "table.parquet").read_bytes()
    (tmp_path / "table.parquet").unlink()
    line = refusal(tmp_path, ".parquet", content)
    assert message in line and "waiter" not in line


def test_damaged_parquet_is_one_line(tmp_path: Path) -> None:
    """Bytes of pages are turned over, and the file is cut short at many places."""
    table = pa.table({"text": [f"text number {i}" for i in range(200)], "n": list(range(200))})
    # a damage that only the checksum tells: a letter for another one
    parquet.write_table(
        table,
        tmp_path / "table",
        write_page_checksum=True,
        compression="none",
        use_dictionary=False,
    )
    content = (tmp_path / "table").read_bytes()
    (tmp_path / "table").unlink()
    pages = parquet.ParquetFile(pa.BufferReader(content)).metadata.row_group(0).column(0)
    first = pages.data_page_offset + 200
    for place in range(first, first + 400, 20):
        damaged = bytearray(content)
        damaged[place] ^= 1
        assert "damaged" in refusal(tmp_path, ".parquet", bytes(damaged))
    for length in range(0, len(content), len(content) // 20):
        assert "damaged" in refusal(tmp_path, ".parquet", content[:length])


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (".txt", "a\n\nb\nc\nd\n"),
        (".csv", "text,n\na,1\n\n\n\n\nb,2\n" + "c,3\n" * 7),
        (".jsonl", '{"text":null}\n' * 5 + '{"text":"a"}\n' * 5),
    ],
)
def test_batches_can_be_read_ahead(tmp_path: Path, kind: str, content: str) -> None:
    """A second reader sees the batches that `change` gets."""
    source = tmp_path / f"in{kind}"
    source.write_text(content)
    seen = []

    def keep(texts: list[str], share: float | None) -> list[str]:
        seen.append(texts)
        return upper(texts, share)

    with (tmp_path / "out").open("wb") as stream:
        transform(str(source), stream, kind, columns(), keep)
    assert list(batches_of_texts(str(source), kind, columns())) == seen != []
