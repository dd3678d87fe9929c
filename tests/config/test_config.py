"""Every shipped config composes and passes the schema; every bad input is one clear line."""

from pathlib import Path

import pytest
from conftest import ROOT, Run
from omegaconf import OmegaConf

from trlap import stages
from trlap.config.door import config_from
from trlap.mechanisms.registry import MECHANISMS, parameters

OPTIONS = sorted(
    f"{path.parent.name}={path.stem}"
    for path in (ROOT / "conf").glob("*/*.yaml")
    if path.parent.name != "hydra"
)


@pytest.mark.parametrize("option", OPTIONS)
def test_every_shipped_config_composes(configure, option: str) -> None:  # type: ignore[no-untyped-def]
    cfg = configure(option)
    stages.check(config_from(cfg))
    group, name = option.split("=")
    if group == "epsilon":
        assert cfg.epsilon == float(name)
    elif group not in ("experiment", "size"):
        assert cfg[group].name == name


def test_all_groups_are_there() -> None:
    groups = {option.split("=")[0] for option in OPTIONS}
    assert groups == {
        "dataset",
        "embedding",
        "mechanism",
        "epsilon",
        "model",
        "classifier",
        "protocol",
        "size",
        "experiment",
    }


def test_sizes_choose_the_model_whatever_the_protocol(configure) -> None:  # type: ignore[no-untyped-def]
    table = ("experiment=table2", "dataset=yelp", "protocol=release")
    small, whole = configure(*table), configure(*table, "size=paper")
    assert (small.model.name, small.model.epochs, small.model.layers) == ("bilstm_small", 15, 2)
    assert (small.dataset.max_words, small.dataset.limit.train) == (10, 4000)
    assert (whole.model.name, whole.model.epochs, whole.model.layers) == ("bilstm", 100, 2)
    assert (whole.dataset.max_words, whole.dataset.limit.train) == (None, None)


def test_the_demo_brings_its_model_unless_one_is_asked_for(configure) -> None:  # type: ignore[no-untyped-def]
    assert configure().model.name == "bilstm_demo"
    assert configure("model=bilstm_small").model.name == "bilstm_small"
    assert configure("dataset=yelp").model.name == "bilstm_small"


@pytest.mark.parametrize("name", MECHANISMS.names)
def test_a_mechanism_has_one_yaml_with_all_its_keys(name: str) -> None:
    given = OmegaConf.to_container(OmegaConf.load(ROOT / "conf" / "mechanism" / f"{name}.yaml"))
    assert isinstance(given, dict)
    # one that answers for documents sets other keys too
    given = given.get("mechanism", given)
    assert given == {"name": name} | parameters(name, {})


def test_no_config_names_a_python_object() -> None:
    assert not [p for p in (ROOT / "conf").rglob("*.yaml") if "_target_" in p.read_text()]


SMALL = (
    "dataset=text",
    "embedding=random",
    "embedding.dimension=8",
    "metrics.bertscore.model=null",
)


def write(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


BAD = [
    (["epsilon=0"], "epsilon=0.0: must be in (0, inf]"),
    (["epsilon=-1"], "epsilon=-1.0: must be in (0, inf]"),
    (["epsilon=nan"], "epsilon=nan: must be in (0, inf]"),
    (["epsilon=much"], "epsilon=much: give a number above 0, as epsilon=0.1, or epsilon=inf"),
    (["delta=0"], "delta=0: must be `paper` (4^-d) or a number in (0, 1)"),
    (["delta=1"], "delta=1: must be"),
    (["delta=-0.1"], "delta=-0.1: must be"),
    (["delta=small"], "delta=small: must be"),
    (["clip=0"], "clip=0.0: must be in [1e-12, 1e12]"),
    (["clip=-1"], "clip=-1.0: must be in [1e-12, 1e12]"),
    (["mechanism=nosie"], "mechanism=nosie: there is none; choose from"),
    (["dataset=imdb"], "dataset=imdb: there is none; choose from agnews, demo"),
    (["projection=near"], "projection=near: must be one of clipped, original"),
    (["epsilom=1"], "no such key: epsilom; did you mean epsilon?"),
    (["dataset.limit.tset=5"], "no such key: dataset.limit.tset; did you mean dataset.limit.test"),
    (["mechanism.foo=1"], "no such key: mechanism.foo"),
    (["stages=[privatise]"], "stages: no stage 'privatise'"),
    (["device=cuda"], "device=cuda: this machine has no CUDA device"),
    (["device=tpu"], "device=tpu: must be auto, cpu, mps, cuda or cuda:N"),
    (["dataset.path=/nowhere", *SMALL], "/nowhere: no such file"),
    (["embedding.path=/nowhere"], "embedding.path=/nowhere: no such file"),
]


@pytest.mark.parametrize(("overrides", "message"), BAD, ids=lambda x: str(x)[:40])
def test_bad_values_are_one_line(run: Run, overrides: list[str], message: str) -> None:
    if overrides == ["device=cuda"]:
        torch = pytest.importorskip("torch")
        if torch.cuda.is_available():
            pytest.skip("this machine has CUDA")
    refused(run(*overrides), message)


def refused(done, message: str) -> None:  # type: ignore[no-untyped-def]
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert message in done.stderr


FILES = [
    ("empty.txt", "", [], "the file is empty"),
    ("latin.txt", "caf\xe9 au lait\n".encode("latin-1"), [], "not UTF-8"),
    ("a.csv", "comment,stars\ngood,1\n", [], "comment, stars"),
    ("b.csv", "text,stars\ngood,1\n", ["dataset.label=label"], "text, stars"),
    ("c.csv", "text,label\n" + "good,1\n" * 9 + "bad,\n", ["dataset.label=label"], "row 10"),
    ("d.docx", "text", [], ".docx"),
]


@pytest.mark.parametrize(("name", "content", "more", "message"), FILES, ids=lambda x: str(x)[:12])
def test_bad_dataset_files_are_one_line(run: Run, tmp_path, name, content, more, message) -> None:  # type: ignore[no-untyped-def]
    path = write(tmp_path / name, content)
    refused(run(*SMALL, f"dataset.path={path}", *more), message)


VECTORS = [
    ("good 1 2 3\nbad 1 2\n", "line 2: 2 numbers after the word"),
    ("good 1 2 3 4\n", "line 1: 4 numbers after the word, but embedding.dimension is 3"),
    ("good 1 nan 3\n", "no number"),
    ("qwertz 1 2 3\n", "none of its words is in the vocabulary"),
]


@pytest.mark.parametrize(("content", "message"), VECTORS)
def test_bad_embedding_files_are_one_line(run: Run, tmp_path, content, message) -> None:  # type: ignore[no-untyped-def]
    vectors = write(tmp_path / "v.txt", content)
    refused(run(f"embedding.path={vectors}", "embedding.dimension=3"), message)


def test_an_unreachable_hub_is_one_line(run: Run) -> None:
    done = run("dataset=agnews", HF_ENDPOINT="http://127.0.0.1:9", TRLAP_DATA="/nowhere")
    refused(done, "fancyzhx/ag_news")
    assert "dataset.path=" in done.stderr


def test_a_read_only_output_folder_is_one_line_and_nothing_is_lost(run: Run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "outputs").write_text("kept")  # root may write to any folder, but not into a file
    refused(run(), "cannot write to")
    assert (tmp_path / "outputs").read_text() == "kept"


def test_a_full_disk_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "outputs").symlink_to("/dev/full")
    refused(run(), "cannot write to")


def test_help_shows_groups_options_and_examples(run: Run) -> None:
    text = run("--help").stdout
    assert text.count("python run.py") >= 3
    for option in ("trlap", "sst2_sentence", "glove840b", "bilstm_small", "high_privacy"):
        assert option in text
    assert "epsilon takes any number above 0" in text
