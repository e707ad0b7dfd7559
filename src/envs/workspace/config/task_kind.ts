import type { TaskYaml } from "./task_schema.ts";

/** Requirements of MLGym's task kinds that no sandbox can meet. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  ModelSubmissionTasks: "a training of JAX or PyTorch models",
  LMSubmissionTasks: "GPUs and torchrun",
};
const KNOWN = ["PythonSubmissionTasks", "CSVSubmissionTasks", ...Object.keys(UNSUPPORTED)];

/** Returns the reason why a task of this kind cannot be scored; `undefined` if it can. */
export function findKindFault(yaml: TaskYaml): string | undefined {
  if (yaml.evaluation?.module) return undefined;
  const hasScript = yaml.evaluation_paths.length > 0;
  const kind = yaml.task_entrypoint ?? (hasScript ? "CSVSubmissionTasks" : undefined);
  if (kind === undefined) {
    return "it must have 'evaluation.module' or 'task_entrypoint': both are missing";
  }
  if (Object.hasOwn(UNSUPPORTED, kind)) {
    return `a task of the kind ${kind} needs ${UNSUPPORTED[kind]}, which a sandbox does not have`;
  }
  if (!KNOWN.includes(kind)) {
    return `'task_entrypoint' must be one of ${KNOWN.join(", ")}: current value is '${kind}'`;
  }
  return hasScript ? undefined : "'evaluation_paths' must name a script: it is empty";
}
