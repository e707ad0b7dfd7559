import type { History } from "../history.ts";
import { messageText } from "../message.ts";
import { calculationOf } from "./calculation.ts";
import type { Policy } from "./policy.ts";
import { countAssistantTurns } from "./turns.ts";

/**
 * Creates a policy that computes a task's `reference` solution in Python over two turns and answers with the
 * number that Python printed. The answer never contains numbers of the reference itself, so a correct one
 * shows that execution works. Useful for demos and tests without a model.
 */
export function calculatorPolicy(): Policy {
  return {
    name: "calculator",
    // deno-lint-ignore require-await
    async reply(history, { task }) {
      const calculation = calculationOf(task.reference ?? "");
      if (calculation === null) return "I find nothing to calculate here.";
      const program = calculation.programs[countAssistantTurns(history)];
      return program === undefined ? answerOf(history) : `\`\`\`python\n${program}\n\`\`\``;
    },
  };
}

function answerOf(history: History): string {
  const printed = /= *(-?[\d.]+(?:e[-+]?\d+)?)\s*$/.exec(
    history.last === undefined ? "" : messageText(history.last),
  )?.[1];
  return printed === undefined ? "I could not work it out." : `The answer is <answer>${printed}</answer>`;
}
