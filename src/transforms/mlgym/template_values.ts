import type { AgentConfig } from "../../envs/workspace/agent_config.ts";
import { agentOf } from "../../envs/workspace/config/agent_tools.ts";
import { formatTemplate } from "../../envs/workspace/config/format_template.ts";
import type { TemplateValue, WorkspaceTask } from "../../envs/workspace/workspace_task.ts";
import { EnvError, errorMessage } from "../../errors.ts";
import type { Task } from "../../task.ts";

/** What is played, and by whom. */
export interface PlayedTasks {
  readonly tasks: readonly WorkspaceTask[];
  readonly agent: AgentConfig;
}

/** What a template of an agent may name. */
export type TemplateFields = Readonly<Record<string, TemplateValue>>;

/** The workspace task that an episode plays: `fields.workspace` names it, else the id does. */
export function playedTask({ id, fields }: Task, { tasks }: PlayedTasks): WorkspaceTask | undefined {
  const wanted = typeof fields?.workspace === "string" ? fields.workspace : id;
  return tasks.find((task) => task.id === wanted);
}

/**
 * What the templates of an episode may name beside the state: the task's fields, the agent's commands and variables.
 *
 * @throws {EnvError} when the episode plays none of the tasks.
 */
export function templateFields(task: Task, played: PlayedTasks): TemplateFields {
  const found = playedTask(task, played);
  if (found === undefined) {
    const known = played.tasks.map(({ id }) => id).join(", ");
    throw new EnvError(`Cannot play task '${task.id}' as it must be one of ${known}`);
  }
  const { commandDocs, variables } = agentOf(played.agent, found).tools;
  return { ...found.fields, description: found.description, command_docs: commandDocs, ...variables };
}

/**
 * A template of the agent, filled.
 *
 * @throws {EnvError} when it names what is not there, with its name.
 */
export function filled(name: string, template: string, fields: TemplateFields): string {
  try {
    return formatTemplate(template, fields);
  } catch (cause) {
    const why = errorMessage(cause);
    throw new EnvError(`Cannot write '${name}': ${why}`, { cause });
  }
}
