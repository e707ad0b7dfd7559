/**
 * A small package in the layout of reasoning-gym, with one data set and the same rule of partial scores. As there, the whole
 * package cannot be imported without numpy.
 */
export const STAND_IN: Readonly<Record<string, string>> = {
  "reasoning_gym/__init__.py": "import numpy\n",
  "reasoning_gym/algorithmic/__init__.py": "import numpy\n",
  "reasoning_gym/arithmetic/__init__.py": "import numpy\n",
  "reasoning_gym/coaching/__init__.py": "import numpy\n",
  "reasoning_gym/coaching/attributes.py": "class RangeAttributeDefinition: ...\n",
  "reasoning_gym/coaching/base_curriculum.py": "class BaseCurriculum: ...\n",
  "reasoning_gym/factory.py": `
from reasoning_gym.coaching.base_curriculum import BaseCurriculum

DATASETS = {}

def register_dataset(name, dataset, config, curriculum=None):
    DATASETS[name] = dataset, config

def create_dataset(name, **settings):
    dataset, config = DATASETS[name]
    return dataset(config(**settings))
`,
  "reasoning_gym/arithmetic/leg_counting.py": `
from dataclasses import dataclass
from random import Random

from ..coaching import BaseCurriculum, RangeAttributeDefinition
from ..factory import register_dataset

@dataclass
class Config:
    seed: int
    most: int = 500

class Legs:
    def __init__(self, config):
        self.config = config

    def __getitem__(self, index):
        count = Random(self.config.seed + index).randint(100, 100 + self.config.most)
        print("made")
        return {"question": f"How many legs have {count} dogs?", "answer": str(4 * count), "metadata": {}}

    def score_answer(self, answer, entry):
        right = entry["answer"]
        return 1.0 if answer == right else len(right) / len(answer) if right in answer else 0.0

register_dataset("leg_counting", Legs, Config)
`,
};
