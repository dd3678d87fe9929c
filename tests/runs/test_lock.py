"""Who holds a lock, when it is stale, and that two processes never hold it at once."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from trlap.runs.cache import cached
from trlap.runs.lock import STALE, Busy, Lock, Owner

# Takes the lock a few times. Inside, a file that must not be there yet shows that nobody else is in.
# Some die while they hold it: the next one has to find that out.
CROWD = """
import os, random, sys, time
from pathlib import Path
from trlap.runs.lock import Lock

folder, number = Path(sys.argv[1]), int(sys.argv[2])
inside = folder / "inside"
for turn in range(15):
    with Lock(folder / "lock").hold():
        os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
        time.sleep(random.random() / 200)
        inside.unlink()
        with (folder / "log").open("a") as file:
            file.write(f"{number}\\n")
        if turn == 7 and number % 2:
            os._exit(0)
"""


def test_one_process_at_a_time_even_when_owners_die(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "import trlap.runs.lock; trlap.runs.lock.POLL = 0.005\n" + CROWD,
    ]
    crowd = [subprocess.Popen([*command, str(tmp_path), str(number)]) for number in range(4)]
    assert [process.wait(60) for process in crowd] == [0, 0, 0, 0]
    log = (tmp_path / "log").read_text().split()
    assert [log.count(str(number)) for number in range(4)] == [15, 8, 15, 8]
    # The last one may have died with it.
    assert Lock(tmp_path / "lock").owner() is None
    assert {path.name for path in tmp_path.iterdir()} <= {"log", "lock"}


def test_what_a_process_left_that_died_while_it_took_the_lock_goes(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    dead = replace(Owner.current("x"), pid=2**22 + 5, started=0.0)
    (tmp_path / ".lock.dead").write_text(dead.to_json())
    (tmp_path / ".lock.mine").write_text(Owner.current("x").to_json())
    (tmp_path / ".lock.new").write_text("")
    (tmp_path / ".lock.old").write_text("")
    os.utime(tmp_path / ".lock.old", (0, 0))
    with lock.hold():
        names = {path.name for path in tmp_path.iterdir()}
    assert names == {"lock", ".lock.mine", ".lock.new"}


def test_the_lock_names_its_owner_and_goes_away(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    assert lock.owner() is None
    with lock.hold():
        owner = lock.owner()
        assert owner and owner.pid == os.getpid()
        assert owner.started == psutil.Process().create_time()
        with pytest.raises(Busy), Lock(tmp_path / "lock").hold(wait=False):
            pass
    assert lock.owner() is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "silence", "alive"),
    [
        # A living process of this host need not show that it lives.
        ({}, 10 * STALE, True),
        # Its pid was given to another process.
        ({"started": 0}, 0, False),
        ({"pid": 2**22 + 1}, 0, False),
        ({"host": "elsewhere", "pid": 1}, STALE - 30, True),
        ({"host": "elsewhere", "pid": 1}, STALE + 30, False),
    ],
)
def test_when_a_lock_is_stale(
    tmp_path: Path, change: dict[str, object], silence: float, alive: bool
) -> None:
    path = tmp_path / "lock"
    with Lock(path).hold():
        owner = json.loads(path.read_text())
    path.write_text(json.dumps(owner | change))
    os.utime(path, (time.time() - silence,) * 2)
    assert (Lock(path).owner() is not None) == alive
    assert Lock(path).acquire() == (not alive)


def test_who_lost_the_lock_leaves_the_new_owner_alone(tmp_path: Path) -> None:
    old, new = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    assert old.acquire()
    # As another host does after five minutes without a heartbeat.
    old.path.unlink()
    assert new.acquire()
    old.release()
    assert new.owner() is not None
    new.release()


# Holds the lock until it is killed.
HOLDER = """
import sys, time
from pathlib import Path
from trlap.runs.lock import Lock

with Lock(Path(sys.argv[1])).hold():
    print("in", flush=True)
    time.sleep(60)
"""


def test_a_stopped_owner_keeps_its_lock_and_a_killed_one_loses_it_at_once(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout and holder.stdout.readline() == "in\n"
        holder.send_signal(signal.SIGSTOP)
        # Far longer than another host would wait: but this is its own host, where it is seen to live.
        os.utime(path, (time.time() - 10 * STALE,) * 2)
        assert not Lock(path).acquire()
        # Not waited for yet, so the process is a zombie; it works on nothing any more.
        holder.kill()
        deadline = time.time() + 20
        while not (taken := Lock(path)).acquire():
            assert time.time() < deadline
            time.sleep(0.01)
        taken.release()
    assert list(tmp_path.iterdir()) == []


def test_who_waits_hears_once_of_the_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trlap.runs.lock.POLL", 0.01)
    owners: list[Owner] = []
    holder = Lock(tmp_path / "lock")
    assert holder.acquire()
    threading.Timer(0.2, holder.release).start()
    with Lock(tmp_path / "lock").hold(announce=owners.append):
        assert [owner.pid for owner in owners] == [os.getpid()]


def test_the_heartbeat_touches_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trlap.runs.lock.HEARTBEAT", 0.01)
    path = tmp_path / "lock"
    with Lock(path).hold():
        os.utime(path, (0, 0))
        deadline = time.time() + 20
        while path.stat().st_mtime == 0:
            assert time.time() < deadline
            time.sleep(0.01)


def test_a_stage_is_built_once_though_many_want_it(tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from trlap.runs.cache import cached

def build(folder):
    with (Path(sys.argv[1]) / "built").open("a") as file:
        file.write("x")
    time.sleep(0.3)

cached(Path(sys.argv[1]) / "cache", "stage", 1, build)
"""
    crowd = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(3)]
    assert [process.wait(60) for process in crowd] == [0, 0, 0]
    assert (tmp_path / "built").read_text() == "x"
    folder = cached(tmp_path / "cache", "stage", 1, lambda folder: pytest.fail("it is there"))
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_an_owner_in_another_container_of_this_host_name_is_no_dead_one(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    here = Owner.current("x")
    elsewhere = Owner(here.host, 2**22 + 5, 0.0, "x", "pid:[1]")
    lock.path.write_text(elsewhere.to_json())
    assert lock.owner() == elsewhere
    with pytest.raises(Busy), lock.hold(wait=False):
        pass
    # its silence tells, as that of another host
    os.utime(lock.path, (0, 0))
    assert lock.owner() is None


def test_a_guard_from_the_future_does_not_stay_for_ever(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    lock.path.write_text(Owner(Owner.current("x").host, 2**22 + 5, 0.0, "x").to_json())
    os.utime(lock.path, (0, 0))
    guard = tmp_path / "lock.stale"
    guard.touch()
    future = time.time() + 10 * STALE
    os.utime(guard, (future, future))
    with lock.hold():
        assert lock.owner() is not None
