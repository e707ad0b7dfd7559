import type { MetricDirection } from "./workspace_task.ts";

/** Words in the names of metrics that are better when lower. */
const COSTS =
  /(?:^|[^a-z])(?:r?mse|r?msle|mae|mape|wer|cer|err(?:or)?s?|incorrect|loss|regret|perplexity|ppl|cost|time|seconds|latency|std)(?![a-z])/;

/** Guesses the direction of a metric from its name: an `RMSE` or a `val_loss` is minimized, others are maximized. */
export function guessMetricDirection(name: string): MetricDirection {
  return COSTS.test(name.toLowerCase()) ? "minimize" : "maximize";
}
