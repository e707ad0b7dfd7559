import type { TaskYaml } from "./task_schema.ts";

/** What kinds of MLGym's tasks need that no sandbox has. */
const BEYOND: Readonly<Record<string, string>> = {
  ModelSubmissionTasks: "a training of JAX or PyTorch models",
  LMSubmissionTasks: "GPUs and torchrun",
};
const KNOWN = ["PythonSubmissionTasks", "CSVSubmissionTasks", ...Object.keys(BEYOND)];

/** Why nobody can score a task of this kind; nothing where one can. */
export function kindFault(yaml: TaskYaml): string | undefined {
  if (yaml.evaluation?.module) return undefined;
  const hasScript = yaml.evaluation_paths.length > 0;
  const kind = yaml.task_entrypoint ?? (hasScript ? "CSVSubmissionTasks" : undefined);
  if (kind === undefined) {
    return "it must say how it is scored: it has neither 'evaluation.module' nor 'task_entrypoint'";
  }
  if (Object.hasOwn(BEYOND, kind)) {
    return `a task of the kind ${kind} needs ${BEYOND[kind]}, which no sandbox has`;
  }
  if (!KNOWN.includes(kind)) {
    return `'task_entrypoint' must be one of ${KNOWN.join(", ")}: current value is '${kind}'`;
  }
  return hasScript ? undefined : "'evaluation_paths' must name a script: it names none";
}
