"""What a seed means never changes: the private text of every mechanism on the demo, byte for byte."""

import hashlib
import json
from pathlib import Path

from conftest import Run

PINNED = Path(__file__).with_name("golden.json")
CHEAP = ("metrics.bootstrap=0", "metrics.bertscore.model=null")
MECHANISMS = (
    "none,gaussian,laplace,trlap,cmp,mahalanobis,pte,vickrey,tem,santext,krr,srr,crr",
    "gaussian,laplace,trlap,cmp,mahalanobis,pte",
)


def digests(outputs: Path) -> dict[str, str]:
    """SHA-256 of private.jsonl by protocol, mechanism and ε."""
    found = {}
    for path in outputs.glob("*/result.json"):
        result = json.loads(path.read_text(encoding="utf-8"))
        name = f"{result['protocol']} {result['mechanism']} {result['epsilon']}"
        found[name] = hashlib.sha256((path.parent / "private.jsonl").read_bytes()).hexdigest()
    return found


def test_private_text_is_the_same_byte_for_byte(run: Run, tmp_path: Path) -> None:
    for mechanisms, more in (
        (MECHANISMS[0], ("epsilon=1,10",)),
        (MECHANISMS[1], ("epsilon=0.05", "protocol=release")),
    ):
        done = run(f"mechanism={mechanisms}", *more, "stages=[privatize]", *CHEAP, "-m")
        assert done.returncode == 0, done.stdout + done.stderr
    assert digests(tmp_path / "outputs") == json.loads(PINNED.read_text(encoding="utf-8"))
