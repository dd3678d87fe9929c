"""What a seed means never changes: the private text of every mechanism on the demo, byte for byte."""

import hashlib
import json
from pathlib import Path

import pytest
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


@pytest.mark.parametrize(
    ("protocol", "mechanisms", "epsilon"),
    [
        ("paper", MECHANISMS[0], "10"),
        pytest.param("paper", MECHANISMS[0], "1", marks=pytest.mark.slow),
        ("release", MECHANISMS[1], "0.05"),
    ],
)
def test_private_text_is_the_same_byte_for_byte(
    run: Run, tmp_path: Path, protocol: str, mechanisms: str, epsilon: str
) -> None:
    keys = (f"protocol={protocol}", f"mechanism={mechanisms}", f"epsilon={epsilon}")
    done = run(*keys, "stages=[privatize]", *CHEAP, "-m")
    assert done.returncode == 0, done.stdout + done.stderr
    pinned = json.loads(PINNED.read_text(encoding="utf-8"))
    # without noise there is no ε
    ends = (f" {float(epsilon)}", " inf")
    wanted = {
        name: digest
        for name, digest in pinned.items()
        if name.startswith(f"{protocol} ") and name.endswith(ends)
    }
    assert len(wanted) == len(mechanisms.split(","))
    assert digests(tmp_path / "outputs") == wanted
