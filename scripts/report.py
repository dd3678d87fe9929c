"""python scripts/report.py [FOLDER ...]    tables, figures, claims and a page from results on disk

Without a folder: the runs in outputs/. A file of collected rows will do too.
`results` holds the rows of the study in docs/reproduction.md.
"""

import argparse
import sys
from pathlib import Path

from trlap import cli
from trlap.report import build
from trlap.report.results import collect, read

ROOT = Path(__file__).parent.parent
EMPTY = """\
no finished run in {places}. Runs that fill the paper's tables:

  python run.py -m experiment=high_privacy protocol=paper,release dataset=yelp
  python run.py -m experiment=low_privacy protocol=paper,release dataset=yelp

or, in a minute, on the embedded corpus:

  python run.py -m experiment=smoke

`python scripts/report.py results` shows the rows that come with the project."""


def main() -> int:
    cli.plain_output()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("places", nargs="*", type=Path, default=[Path("outputs")])
    parser.add_argument("--to", type=Path, default=Path("outputs/report"))
    parser.add_argument("--collect", type=Path, help="write the rows into one .jsonl instead")
    options = parser.parse_args()
    if not any(True for _ in read(options.places)):
        print(EMPTY.format(places=", ".join(map(str, options.places))), file=sys.stderr)
        return 1
    if options.collect:
        print(f"{collect(read(options.places), options.collect)} rows in {options.collect}")
        return 0
    results = build(options.places, options.to, ROOT / "results" / "published")
    print(f"{len(results)} runs · {options.to}/index.html, report.md, tables.tex, tables.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
