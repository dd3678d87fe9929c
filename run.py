"""python run.py mechanism=trlap epsilon=0.1    (python run.py --help lists everything)"""

import hydra
from omegaconf import DictConfig

from trlap import cli, pipeline, summary


@hydra.main(version_base="1.3", config_path="conf", config_name="config")
@cli.task
def main(cfg: DictConfig) -> None:
    print(summary.render(pipeline.run(cfg)))


if __name__ == "__main__":
    cli.launch(main)
