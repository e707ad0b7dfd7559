import type { EnvResetOptions, Observation, Step } from "../../envs/env.ts";
import { workspaceViewOf } from "../../envs/workspace/evaluation.ts";
import { EnvError } from "../../errors.ts";
import { History } from "../../history.ts";
import type { Task } from "../../task.ts";
import type { Transform, TransformContext } from "../transform.ts";
import { addToMLGymRecord, mlgymRecordOf } from "./mlgym_record.ts";
import { fillTemplate, findWorkspaceTask, type MLGymTasks, templateFieldsOf } from "./template_values.ts";

/**
 * Starts an episode's history with the system message and appends the policy's messages in each step. The
 * inner env creates the workspace.
 *
 * A task that names no workspace uses the first workspace.
 */
export class ResetModule implements Transform {
  readonly #played: MLGymTasks;

  constructor(options: MLGymTasks) {
    this.#played = options;
  }

  task(task: Task, _options: EnvResetOptions): Task {
    const [first] = this.#played.tasks;
    if (first === undefined || findWorkspaceTask(task, this.#played) !== undefined) return task;
    return { ...task, fields: { ...task.fields, workspace: first.id } };
  }

  /**
   * @throws {EnvError} when the env is not a workspace, or the system template cannot be filled.
   */
  reset(observation: Observation, { task }: TransformContext): Observation {
    const { agent } = this.#played;
    const fields = templateFieldsOf(task, this.#played);
    const content = fillTemplate("system_template", agent.systemTemplate, fields);
    const demonstrations = agent.putDemosInHistory ? agent.demonstrations : [];
    const prompt = demonstrations.reduce(
      (history, demonstration) => history.extend(demonstration),
      History.fromChats([{ role: "system", content }]),
    );
    return addToMLGymRecord({ ...observation, history: { prompt } }, { observation: outputOf(observation) });
  }

  step(step: Step, { observation, action }: TransformContext): Step {
    const before = observation?.history.prompt ?? History.fromChats([]);
    const prompt = before.extend(mlgymRecordOf(action).localHistory ?? action?.history?.response ?? []);
    return addToMLGymRecord({ ...step, history: { prompt } }, { observation: outputOf(step) });
  }
}

function outputOf(observation: Observation): string | null {
  const workspace = workspaceViewOf(observation);
  if (workspace !== undefined) return workspace.output;
  throw new EnvError("Cannot play MLGym's wrapper as the env must be a workspace: the observation has none");
}
