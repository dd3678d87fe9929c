"""python scripts/report.py [PLACE ...]    tables, figures, claims and a page from results on disk

Without a place: your runs in outputs/ among the study that comes with the project, marked as yours, in
outputs/report/. With places (folders of runs, folders or files of collected rows): those alone, in a folder
named after them, so that no report takes the place of another: `python scripts/report.py results` writes
outputs/report-results/.
"""

import argparse
import sys
from pathlib import Path

from trlap import cli
from trlap.errors import TrlapError
from trlap.report.build import build, draw
from trlap.report.results import collect, read, yours

ROOT = Path(__file__).parent.parent
OUTPUTS = Path("outputs")
STUDY = ROOT / "results"
EMPTY = """\
no finished run in {places}. Runs that fill the paper's tables:

  python run.py -m experiment=high_privacy protocol=paper,release dataset=yelp
  python run.py -m experiment=low_privacy protocol=paper,release dataset=yelp

or, in a minute, on the embedded corpus:

  python run.py -m experiment=smoke

`python scripts/report.py results` shows the rows that come with the project."""


def usage() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("places", nargs="*", type=Path, metavar="PLACE", help="what to report on")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where the report goes")
    parser.add_argument(
        "--collect", type=Path, metavar="FILE", help="write the rows into one .jsonl instead"
    )
    parser.add_argument(
        "--figures", type=Path, metavar="FOLDER", help="draw the figures' SVG files there instead"
    )
    return parser


def target(places: list[Path]) -> Path:
    """The folder of a report on these places: each set of places has its own."""
    names = [place.resolve().stem for place in places]
    return OUTPUTS / "-".join(["report", *names])


def check(folder: Path) -> None:
    """A folder that holds anything but a report is somebody's."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "claims.json").is_file():
        raise TrlapError(f"--to {folder}: holds something else than a report; name another folder")


def main() -> int:
    cli.plain_output()
    options = usage().parse_args()
    places = options.places or [OUTPUTS, STUDY]
    published = ROOT / "results" / "published"
    if not any(True for _ in read(places)):
        print(EMPTY.format(places=", ".join(map(str, places))), file=sys.stderr)
        return 1
    if options.collect:
        print(f"{collect(read(places), options.collect)} rows in {options.collect}")
        return 0
    if options.figures:
        names = draw(places, options.figures, published)
        print(f"{', '.join(names)} · {options.figures}")
        return 0
    folder = options.to or target(options.places)
    try:
        check(folder)
    except TrlapError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    results = build(places, folder, published)
    own = int(yours(results).sum())
    whose = f", {own} of them yours" if own else ""
    print(f"{len(results)} runs{whose} · {folder}/index.html, report.md, tables.tex, tables.csv")
    if not own and not options.places:
        print("no run of yours in outputs/ yet: python run.py mechanism=trlap epsilon=0.1")
    return 0


if __name__ == "__main__":
    sys.exit(main())
