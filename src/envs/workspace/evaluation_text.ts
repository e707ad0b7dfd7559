import { pythonFloat, pythonStr } from "../../tools/python_repr.ts";
import type { EvaluationOutcome } from "./evaluation.ts";
import { WORKSPACE_FOLDER } from "./workspace_place.ts";
import type { Scores } from "./workspace_task.ts";

/** Text for a missing baseline. */
const NO_BASELINE = "NA (no baseline was there)";

/** Returns the message for the agent about a validation, in MLGym's format, which its tools parse. */
export function textOfValidation(outcome: EvaluationOutcome, baseline: Scores | null): string {
  switch (outcome.status) {
    case "scored":
      return [
        `Your code produced a valid submission artefact at ${WORKSPACE_FOLDER}/${outcome.artefact}.`,
        `Baseline Score: ${baseline === null ? NO_BASELINE : scoresText(baseline)}`,
        `Evaluation Score: ${scoresText(outcome.scores)}`,
      ].join("\n");
    case "missing":
      return `There is nothing to evaluate yet: ${outcome.message}`;
    case "malformed":
      return `The evaluation gave no metrics. This is what it printed:\n---\n${outcome.output}\n---`;
    case "failed":
      return `The evaluation did not succeed: ${outcome.message}`;
  }
}

/** Returns MLGym's exit status of an episode that `action` ended with an evaluation. */
export function exitStatusOf(action: string, { status }: EvaluationOutcome): string {
  switch (status) {
    case "scored":
      return action === "submit" ? "submitted" : `autosubmission (${action})`;
    case "missing":
      return `submission_not_found (${action})`;
    case "malformed":
      return `evaluation_format_error (${action})`;
    case "failed":
      return `evaluation_failed (${action})`;
  }
}

/** Formats scores as Python prints a dict of floats. */
function scoresText(scores: Scores): string {
  const entries = Object.entries(scores).map(([name, value]) => {
    const quoted = pythonStr([name]).slice(1, -1);
    return `${quoted}: ${pythonFloat(value)}`;
  });
  return `{${entries.join(", ")}}`;
}
