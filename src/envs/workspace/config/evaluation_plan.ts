import { basename, dirname, relative } from "node:path";
import { guessMetricDirection } from "../evaluation.ts";
import type { EvaluationPlan, MetricDirection, Scores, WorkspaceFile } from "../task.ts";
import type { TaskYaml } from "./task_schema.ts";

/** Inputs of {@linkcode toEvaluationPlan} beside the YAML. */
export interface PlanParts {
  /** Files of the starter code, without the secret ones. */
  readonly starter: readonly WorkspaceFile[];
  readonly secret: readonly WorkspaceFile[];
  readonly data: readonly WorkspaceFile[];
  readonly readOnly: readonly string[];
  /** Finds a file that the YAML names. Records a fault for a missing file and returns the path as given. */
  readonly find: (path: string, key: readonly PropertyKey[]) => Promise<string>;
}

/** MLGym's training timeout, in seconds. */
export const DEFAULT_TRAINING_SECONDS = 3600;
/** Default timeout of an `evaluation.module`, in seconds. */
const DEFAULT_EVALUATION_SECONDS = 120;

/** Returns the plan for scoring the submissions of a task. */
export async function toEvaluationPlan(yaml: TaskYaml, parts: PlanParts): Promise<EvaluationPlan> {
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
  const files = await extraFiles(yaml, dirname(hostPath), find);
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
  const isUnspecified = (yaml.evaluation?.submission ?? []).length === 0;
  const submission = isCsv && isUnspecified
    ? ["submission.csv"]
    : submissionOf(yaml, parts, yaml.evaluation_paths);
  const more = await extraFiles(yaml, dirname(script.hostPath), find);
  return {
    kind: isCsv ? "csv-script" : "python-script",
    script,
    files: [...all.filter((file) => file !== script && !submission.includes(file.path)), ...more, ...data],
    submission,
    timeoutMs: 1000 *
      (yaml.evaluation?.timeout ?? yaml.training_timeout ?? DEFAULT_TRAINING_SECONDS),
  };
}

/** Returns the YAML's extra files, each at the path relative to the script. */
async function extraFiles(
  { evaluation }: TaskYaml,
  folder: string,
  find: PlanParts["find"],
): Promise<WorkspaceFile[]> {
  const files: WorkspaceFile[] = [];
  for (const [index, name] of (evaluation?.files ?? []).entries()) {
    const hostPath = await find(name, ["evaluation", "files", index]);
    const path = relative(folder, hostPath);
    files.push({ path: path.startsWith("..") ? basename(hostPath) : path, hostPath });
  }
  return files;
}

/**
 * Returns the paths of the submission. If the YAML does not set them, they are the starter files that the agent may
 * change and that are not scripts: those that the description names, or else all.
 */
function submissionOf(yaml: TaskYaml, parts: PlanParts, scripts: readonly string[]): readonly string[] {
  const submission = yaml.evaluation?.submission ?? [];
  if (submission.length > 0) return submission;
  const candidates = parts.starter.map(({ path }) => path)
    .filter((path) => !scripts.includes(path) && !parts.readOnly.includes(path));
  const named = candidates.filter((path) => yaml.description.includes(`\`${path}\``));
  return named.length > 0 ? named : candidates;
}

function directionsOf(
  given: Readonly<Record<string, MetricDirection>>,
  baseline: Scores | undefined,
): Record<string, MetricDirection> {
  const guessed = Object.keys(baseline ?? {}).map((name) => [name, guessMetricDirection(name)] as const);
  return { ...Object.fromEntries(guessed), ...given };
}
