import { basename, dirname, relative } from "node:path";
import { metricDirection } from "../metric_direction.ts";
import type { EvaluationPlan, MetricDirection, Scores, WorkspaceFile } from "../workspace_task.ts";
import type { TaskYaml } from "./task_schema.ts";

/** What a plan is made of beside the YAML. */
export interface PlanParts {
  /** Everything that the starter code has, secret files too. */
  readonly starter: readonly WorkspaceFile[];
  readonly secret: readonly WorkspaceFile[];
  readonly data: readonly WorkspaceFile[];
  readonly readOnly: readonly string[];
  /** Finds what the YAML names; notes it as a fault, and gives a place where nothing is, when it is not there. */
  readonly find: (path: string, key: readonly PropertyKey[]) => Promise<string>;
}

/** Seconds that MLGym gives a training. */
export const DEFAULT_TRAINING_SECONDS = 3600;
/** Seconds that an evaluation of our own may take. */
const DEFAULT_EVALUATION_SECONDS = 120;

/** How the submissions of a task are scored. */
export async function evaluationPlan(yaml: TaskYaml, parts: PlanParts): Promise<EvaluationPlan> {
  const { evaluation } = yaml;
  const baseline = yaml.baseline_scores[0];
  const shared = {
    directions: directionsOf(evaluation?.metrics ?? {}, baseline),
    metric: evaluation?.metric ?? Object.keys(evaluation?.metrics ?? {})[0],
    ...(baseline && { baseline }),
  };
  return evaluation?.module
    ? { ...shared, ...await modulePlan(yaml, evaluation.module, parts) }
    : { ...shared, ...await scriptPlan(yaml, parts) };
}

type PlanSource = Pick<EvaluationPlan, "kind" | "script" | "files" | "submission" | "timeoutMs">;

async function modulePlan(yaml: TaskYaml, module: string, parts: PlanParts): Promise<PlanSource> {
  const { find } = parts;
  const hostPath = await find(module, ["evaluation", "module"]);
  const files = await besides(yaml, dirname(hostPath), find);
  return {
    kind: "module",
    script: { path: basename(hostPath), hostPath },
    files: [...files, ...parts.secret],
    submission: submissionOf(yaml, parts, []),
    timeoutMs: 1000 * (yaml.evaluation?.timeout ?? DEFAULT_EVALUATION_SECONDS),
  };
}

async function scriptPlan(yaml: TaskYaml, parts: PlanParts): Promise<PlanSource> {
  const { starter, secret, data, find } = parts;
  const [path = ""] = yaml.evaluation_paths;
  const all = [...starter, ...secret];
  const own = all.find((file) => file.path === path);
  const hostPath = path === "" ? path : own?.hostPath ?? await find(path, ["evaluation_paths", 0]);
  const script = own ?? { path, hostPath };
  const isCsv = yaml.task_entrypoint !== "PythonSubmissionTasks";
  const isUnsaid = (yaml.evaluation?.submission ?? []).length === 0;
  const submission = isCsv && isUnsaid
    ? ["submission.csv"]
    : submissionOf(yaml, parts, yaml.evaluation_paths);
  const more = await besides(yaml, dirname(script.hostPath), find);
  return {
    kind: isCsv ? "csv-script" : "python-script",
    script,
    files: [...all.filter((file) => file !== script && !submission.includes(file.path)), ...more, ...data],
    submission,
    timeoutMs: 1000 *
      (yaml.evaluation?.timeout ?? yaml.training_timeout ?? DEFAULT_TRAINING_SECONDS),
  };
}

/** What the YAML wants beside the script, each where it lies as seen from the script. */
async function besides(
  { evaluation }: TaskYaml,
  folder: string,
  find: PlanParts["find"],
): Promise<WorkspaceFile[]> {
  const files: WorkspaceFile[] = [];
  for (const [index, path] of (evaluation?.files ?? []).entries()) {
    const hostPath = await find(path, ["evaluation", "files", index]);
    const way = relative(folder, hostPath);
    files.push({ path: way.startsWith("..") ? basename(hostPath) : way, hostPath });
  }
  return files;
}

/**
 * What an agent hands in. Where the YAML does not say it: of the starter files that the agent may change, and that
 * score nothing, those that its description names, or else all.
 */
function submissionOf(yaml: TaskYaml, parts: PlanParts, scripts: readonly string[]): readonly string[] {
  const said = yaml.evaluation?.submission ?? [];
  if (said.length > 0) return said;
  const own = parts.starter.map(({ path }) => path)
    .filter((path) => !scripts.includes(path) && !parts.readOnly.includes(path));
  const named = own.filter((path) => yaml.description.includes(`\`${path}\``));
  return named.length > 0 ? named : own;
}

function directionsOf(
  given: Readonly<Record<string, MetricDirection>>,
  baseline: Scores | undefined,
): Record<string, MetricDirection> {
  const guessed = Object.keys(baseline ?? {}).map((name) => [name, metricDirection(name)] as const);
  return { ...Object.fromEntries(guessed), ...given };
}
