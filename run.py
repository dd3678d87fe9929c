"""python run.py mechanism=trlap epsilon=0.1    (python run.py --help lists everything)"""

import hydra
from omegaconf import DictConfig

from trlap import cli
from trlap.runs import summary
from trlap.stages import pipeline
from trlap.sweeps import sweep


@hydra.main(version_base="1.3", config_path="conf", config_name="config")
@cli.task
def main(cfg: DictConfig) -> str | None:
    if sweep.inside():
        return sweep.work(cfg)
    print(sweep.plan_of(cfg) if cfg.plan else summary.render(pipeline.run(cfg)))
    return None


if __name__ == "__main__":
    cli.launch(main)
