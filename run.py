"""python run.py mechanism=trlap epsilon=0.1    (python run.py --help lists everything)"""

import hydra
from omegaconf import DictConfig

from trlap import cli
from trlap.config import command
from trlap.runs import beside, pipeline
from trlap.runs.screen import summarize
from trlap.sweeps import launch, plan


@hydra.main(version_base="1.3", config_path="conf", config_name="config")
@cli.task
def main(composed: DictConfig) -> str | None:
    if launch.inside():
        return launch.work(composed)
    command.refuse_sweep()
    if composed.plan:
        print(plan.plan_of(composed))
    else:
        runs = [pipeline.run(config) for config in beside.configs(composed)]
        print(summarize(runs, composed.summary))
    return None


if __name__ == "__main__":
    cli.launch(main)
