import { formatTemplate } from "../config/format_template.ts";
import type { AgentTools } from "../agent_config.ts";
import type { AgentCommand } from "./read_commands.ts";

/** Style of the command docs: `detailed` with arguments, `plain` with one line per command. */
export type CommandDocsStyle = "detailed" | "plain";

/**
 * Describes commands for an agent in the format of MLGym's `ParseCommandDetailed` and `ParseCommandBash`.
 *
 * @throws {SyntaxError} if a description uses an unknown variable.
 */
export function describeCommands(
  commands: readonly AgentCommand[],
  options: { variables: AgentTools["variables"]; style?: CommandDocsStyle | undefined },
): string {
  const { variables, style = "detailed" } = options;
  const describe = style === "detailed" ? detailed : plain;
  return commands.map((command) => describe(command, fillDocstring(command, variables))).join("");
}

/** Returns the line that ends the text of a command, for each command that has one. */
export function endNamesOf(commands: readonly AgentCommand[]): Record<string, string> {
  const ends = commands.flatMap(({ name, endName }) => endName === undefined ? [] : [[name, endName]]);
  return Object.fromEntries(ends);
}

function fillDocstring({ docstring }: AgentCommand, variables: AgentTools["variables"]): string | undefined {
  return docstring === undefined ? undefined : formatTemplate(docstring, variables);
}

function detailed(
  { name, signature, arguments: given }: AgentCommand,
  docstring: string | undefined,
): string {
  const lines = Object.entries(given).map(([key, { type, required, description }]) =>
    `    - ${key} (${type}) [${required ? "required" : "optional"}]: ${description}\n`
  );
  const does = docstring === undefined ? "" : `  docstring: ${docstring}\n`;
  const takes = lines.length === 0 ? "" : `  arguments:\n${lines.join("")}`;
  return `${name}:\n${does}  signature: ${signature}\n${takes}\n`;
}

function plain({ signature }: AgentCommand, docstring: string | undefined): string {
  return docstring === undefined ? "" : `${signature} - ${docstring}\n`;
}
