import { guessMetricDirection } from "./metric_direction.ts";
import type { WorkspaceEvaluation } from "./workspace_view.ts";

/**
 * Returns how much better than the baseline a submission is, by the task's metric and in its direction.
 *
 * A positive value is better for every metric. `null` if there is no score or no baseline.
 */
export function computeGain(evaluation: WorkspaceEvaluation): number | null {
  const { outcome, baseline, directions, metric } = evaluation;
  if (outcome.status !== "scored" || baseline === null || metric === undefined) return null;
  const score = outcome.scores[metric];
  const base = baseline[metric];
  if (score === undefined || base === undefined) return null;
  const direction = directions[metric] ?? guessMetricDirection(metric);
  return direction === "maximize" ? score - base : base - score;
}
