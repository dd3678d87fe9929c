"""Run by `unshare`: a run on a disk of so many kilobytes, then again on a larger one. Prints what happened.

python full_disk.py <folder for the disk> <kilobytes> <folder for the outcome> <outputs> <command …>
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

disk, kilobytes, outcome, outputs, *command = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", disk], check=True)
small = subprocess.run(command, capture_output=True, text=True)
subprocess.run(["mount", "-o", "remount,size=500m", disk], check=True)
large = subprocess.run(command, capture_output=True, text=True)
shutil.copytree(outputs, outcome)
used = sum(path.stat().st_blocks * 512 for path in Path(outputs).rglob("*")) // 1024
print(
    json.dumps(
        {"codes": [small.returncode, large.returncode], "err": [small.stderr, large.stderr]}
        | {"used": used}
    )
)
