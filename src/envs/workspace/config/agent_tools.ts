import type { AgentConfig, AgentTools, CommandFile } from "../agent_config.ts";
import {
  type CommandDocsStyle,
  describeCommands,
  endNamesOf,
  readCommands,
} from "../commands/read_commands.ts";
import type { WorkspaceTask } from "../task.ts";

/** Part of an agent's tools that comes from command files. */
export type CommandTools = Required<
  Pick<AgentTools, "commandFiles" | "commands" | "commandDocs" | "endNames">
>;

/**
 * Reads the commands of files, with their docs.
 *
 * @throws {SyntaxError} if a description is invalid, or uses an unknown variable.
 */
export function toCommandTools(
  commandFiles: readonly CommandFile[],
  options: { variables: AgentTools["variables"]; style: CommandDocsStyle },
): CommandTools {
  const commands = readCommands(commandFiles);
  const docs = describeCommands(commands, options);
  return { commandFiles, commands, commandDocs: docs, endNames: endNamesOf(commands) };
}

/** Returns the agent with a task's commands added. */
export function withTaskCommands(agent: AgentConfig, { commandFiles }: WorkspaceTask): AgentConfig {
  if (commandFiles.length === 0) return agent;
  const { tools } = agent;
  const added = toCommandTools(commandFiles, { variables: tools.variables, style: "detailed" });
  return {
    ...agent,
    tools: {
      ...tools,
      commandFiles: [...tools.commandFiles, ...added.commandFiles],
      commands: [...tools.commands ?? [], ...added.commands ?? []],
      commandDocs: tools.commandDocs + added.commandDocs,
      endNames: { ...tools.endNames, ...added.endNames },
    },
  };
}
