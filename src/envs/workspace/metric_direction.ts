import type { MetricDirection } from "./workspace_task.ts";

/** Words in names of what is better when there is less of it. */
const COSTS =
  /(?:^|[^a-z])(?:r?mse|r?msle|mae|mape|wer|cer|err(?:or)?s?|incorrect|loss|regret|perplexity|ppl|cost|time|seconds|latency|std)(?![a-z])/;

/** Whether more of a metric is better, as far as its name tells: less of an `RMSE` or a `val_loss` is. */
export function metricDirection(name: string): MetricDirection {
  return COSTS.test(name.toLowerCase()) ? "minimize" : "maximize";
}
