"""python scripts/bench.py [PART ...]    speed against peers and against the machine's own limits

Every figure is a ratio of two things that took turns in one run (the median over the turns of the ratio
within a turn), so that a noisy machine cancels out. Writes bench.json and bench.md into outputs/bench/.
"""

import argparse
import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import torch
from bench_documents import documents
from bench_limits import audit, growth, memory, start
from bench_measure import DEVICE, Row
from bench_mechanisms import mldp, projection, response, sampling
from bench_training import training

from trlap.files import write_json, write_text

PARTS = (sampling, projection, mldp, response, training, audit, start, memory, growth, documents)


def markdown(rows: list[Row]) -> str:
    lines = ["| what | measured | goal | met |", "|---|---:|---|---|"]
    for row in rows:
        value = "–" if row.value is None else f"{row.value:.3g} {row.unit}"
        met = {True: "yes", False: "**no**", None: ""}[row.met]
        note = f" ({row.note})" if row.note else ""
        lines.append(f"| {row.name}{note} | {value} | {row.goal or ''} | {met} |")
    return "\n".join([*lines, "", machine(), ""])


def machine() -> str:
    """What this ran on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(": ")[1] for line in lines if "model name" in line]
    kind = names[0] if names else platform.processor() or platform.machine()
    device = torch.cuda.get_device_name() if DEVICE.startswith("cuda") else DEVICE
    used = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy"))
    return (
        f"{kind}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, device {device}; "
        f"{platform.system()}, Python {platform.python_version()}, {used}"
    )


def main() -> None:
    about = "Speed against peers and against the machine's own limits; all parts take ten minutes."
    parser = argparse.ArgumentParser(description=about)
    names = {part.__name__: part for part in PARTS}
    parser.add_argument(
        "parts",
        nargs="*",
        choices=[*names, []],
        default=[],
        metavar="PART",
        help=f"one or more of {', '.join(names)}; without any, all of them",
    )
    parser.add_argument(
        "--to",
        type=Path,
        default=Path("outputs/bench"),
        metavar="FOLDER",
        help="where bench.json and bench.md go; outputs/bench if left out",
    )
    options = parser.parse_args()
    rows = []
    for name in options.parts or names:
        for row in names[name]():
            rows.append(row)
            print(markdown([row]).splitlines()[2], flush=True)
    write_json(options.to / "bench.json", [asdict(row) for row in rows])
    write_text(options.to / "bench.md", markdown(rows))
    missed = [row for row in rows if row.met is False]
    print(f"\n{len(rows)} rows in {options.to}/bench.md; goals missed: {len(missed)}")


if __name__ == "__main__":
    main()
