import { metricDirection } from "./metric_direction.ts";
import type { WorkspaceEvaluation } from "./workspace_view.ts";

/**
 * How much better than the baseline a submission is, by the metric that counts and in its direction: more than 0 is
 * better, whatever the metric. `null` when there is no score, or nothing to compare it with.
 */
export function evaluationGain(evaluation: WorkspaceEvaluation): number | null {
  const { outcome, baseline, directions, metric } = evaluation;
  if (outcome.status !== "scored" || baseline === null || metric === undefined) return null;
  const score = outcome.scores[metric];
  const base = baseline[metric];
  if (score === undefined || base === undefined) return null;
  const direction = directions[metric] ?? metricDirection(metric);
  return direction === "maximize" ? score - base : base - score;
}
