import type { AgentConfig } from "../../envs/workspace/agent_config.ts";
import { withTaskCommands } from "../../envs/workspace/config/agent_tools.ts";
import { formatTemplate } from "../../envs/workspace/config/template.ts";
import type { TemplateValue, WorkspaceTask } from "../../envs/workspace/task.ts";
import { EnvError, errorMessage } from "../../errors.ts";
import type { Task } from "../../task.ts";

/** The tasks and the agent of an MLGym env. */
export interface MLGymTasks {
  readonly tasks: readonly WorkspaceTask[];
  readonly agent: AgentConfig;
}

/** Values that an agent's template can use. */
export type TemplateFields = Readonly<Record<string, TemplateValue>>;

/** Returns the workspace task of an episode: `fields.workspace` names the task, otherwise the id does. */
export function findWorkspaceTask({ id, fields }: Task, { tasks }: MLGymTasks): WorkspaceTask | undefined {
  const workspace = typeof fields?.workspace === "string" ? fields.workspace : id;
  return tasks.find((task) => task.id === workspace);
}

/**
 * Returns the values for the templates of an episode, beside the state: the task's fields, and the agent's
 * commands and variables.
 *
 * @throws {EnvError} when the episode's task is unknown.
 */
export function templateFieldsOf(task: Task, played: MLGymTasks): TemplateFields {
  const found = findWorkspaceTask(task, played);
  if (found === undefined) {
    const known = played.tasks.map(({ id }) => id).join(", ");
    throw new EnvError(`Cannot play task '${task.id}' as it must be one of ${known}`);
  }
  const { commandDocs, variables } = withTaskCommands(played.agent, found).tools;
  return { ...found.fields, description: found.description, command_docs: commandDocs, ...variables };
}

/**
 * Fills a template of the agent.
 *
 * @throws {EnvError} when the template uses an unknown value; the message contains the value's name.
 */
export function fillTemplate(name: string, template: string, fields: TemplateFields): string {
  try {
    return formatTemplate(template, fields);
  } catch (cause) {
    const why = errorMessage(cause);
    throw new EnvError(`Cannot write '${name}': ${why}`, { cause });
  }
}
