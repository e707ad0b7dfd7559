"""Rows of a gateway as the output of a rollout function of ``GRPOTrainer``."""

from pathlib import Path
from typing import Any

from datasets import Dataset
from gateway_rows import gateway, play
from tiny_model import tiny_model, tiny_tokenizer
from trl import GRPOConfig, GRPOTrainer

CHATML = (
    "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'tool' %}<tool_response>\n{{ m.content }}\n</tool_response>{% else %}{{ m.content }}{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
GENERATIONS = 4


def test_grpo_trainer_takes_a_step_on_the_rows_of_a_rollout_function(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer(CHATML)
    seen: list[dict[str, Any]] = []

    def rollout(prompts: list[Any], _: GRPOTrainer) -> dict[str, list[Any]]:
        with gateway(tokenizer, tmp_path / "tokenizer") as opened:
            for sample, _prompt in enumerate(prompts, 1):
                play(opened, sample=sample, reward=float(sample % 2), with_title=False)
            rows = sorted(opened.rows(format="trl"), key=lambda row: row["sample"])
        seen.extend(rows)
        return {name: [row[name] for row in rows] for name in rows[0]}

    def score(reward: list[float], **_: Any) -> list[float]:
        return reward

    trainer = GRPOTrainer(
        model=tiny_model(tokenizer),
        reward_funcs=score,
        args=GRPOConfig(
            output_dir=str(tmp_path / "out"),
            per_device_train_batch_size=GENERATIONS,
            num_generations=GENERATIONS,
            max_steps=1,
            report_to=[],
            save_strategy="no",
            logging_steps=1,
        ),
        train_dataset=Dataset.from_list([{"prompt": [{"role": "user", "content": "Add 2 and 3."}]}]),
        processing_class=tokenizer,
        rollout_func=rollout,
    )
    trainer.train()
    assert len(seen) == GENERATIONS and len({tuple(row) for row in seen}) == 1
    for row in seen:
        assert len(row["completion_ids"]) == len(row["env_mask"]) == len(row["logprobs"])
    [logged] = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert logged["reward"] == 0.5
    assert logged["completions/mean_length"] == sum(seen[0]["env_mask"]), "tokens of the mask count alone"
