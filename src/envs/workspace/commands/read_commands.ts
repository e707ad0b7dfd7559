import * as z from "zod";
import { errorMessage } from "../../../errors.ts";
import type { AgentTools, CommandFile } from "../agent_config.ts";
import { formatTemplate } from "../config/template.ts";
import { parseYaml } from "../yaml_text.ts";
import { commandNameOf } from "./commands.ts";

const text = z.string();
const argumentSchema = z.looseObject({ type: text, description: text, required: z.boolean() });
const docsSchema = z.looseObject({
  docstring: text,
  signature: text.nullish(),
  end_name: text.nullish(),
  arguments: z.record(text, argumentSchema).nullish(),
});

/** Command as described by the file. */
export interface AgentCommand {
  readonly name: string;
  /** Description, if the file has a description. A template that may use shell variables. */
  readonly docstring?: string | undefined;
  readonly signature: string;
  /** Line that ends the text of a multi-line command. */
  readonly endName?: string | undefined;
  readonly arguments: Readonly<Record<string, z.output<typeof argumentSchema>>>;
}

const TAG = /^#\s*@yaml\s*$/;
const FUNCTION = /^(?:function\s+)?([A-Za-z_][\w-]*)\s*\(\)\s*\{/;

/**
 * Reads the commands of files: functions with a name that does not begin with `_`, and programs that have a
 * description. A comment that begins with `# @yaml` describes the next function, or the program that contains it.
 *
 * @throws {SyntaxError} if a description is invalid.
 */
export function readCommands(files: readonly CommandFile[]): AgentCommand[] {
  return files.flatMap((file) => {
    if (file.kind === "utility") return [];
    const found = file.kind === "source" ? functionsOf(file) : programOf(file);
    return found.filter(({ name }) => !name.startsWith("_"));
  });
}

function functionsOf(file: CommandFile): AgentCommand[] {
  const found: AgentCommand[] = [];
  let docs: string[] | undefined;
  let inDocs = false;
  for (const line of file.contents.split("\n")) {
    const [, name] = FUNCTION.exec(line) ?? [];
    if (TAG.test(line)) docs = [];
    else if (inDocs && line.startsWith("#")) docs?.push(line.replace(/^# ?/, ""));
    inDocs = TAG.test(line) || (inDocs && line.startsWith("#"));
    if (name === undefined) continue;
    found.push(commandOf(file, name, docs));
    docs = undefined;
  }
  return found;
}

function programOf(file: CommandFile): AgentCommand[] {
  const lines = file.contents.split("\n");
  const tags = lines.flatMap((line, index) => TAG.test(line) ? [index] : []);
  if (tags.length > 1) throw fault(file, "a program must have one description", `found ${tags.length}`);
  const [tag] = tags;
  if (tag === undefined) return [];
  const rest = lines.slice(tag + 1);
  const end = rest.findIndex((line) => !line.startsWith("#"));
  const docs = rest.slice(0, end === -1 ? rest.length : end).map((line) => line.replace(/^# ?/, ""));
  return [commandOf(file, commandNameOf(file), docs)];
}

function commandOf(file: CommandFile, name: string, docs: readonly string[] | undefined): AgentCommand {
  if (docs === undefined) return { name, signature: name, arguments: {} };
  const { docstring, signature, end_name: endName, arguments: given } = parseDocs(file, name, docs);
  const placeholders = Object.entries(given ?? {}).map(([key, { required }]) =>
    required ? `<${key}>` : `[<${key}>]`
  );
  return {
    name,
    docstring,
    arguments: given ?? {},
    endName: endName ?? undefined,
    signature: signature ?? [name, ...placeholders].join(" "),
  };
}

function parseDocs(file: CommandFile, name: string, docs: readonly string[]): z.output<typeof docsSchema> {
  let value: unknown;
  try {
    value = parseYaml(docs.join("\n")).value;
  } catch (cause) {
    const why = errorMessage(cause);
    throw fault(file, `the description of '${name}' must be YAML`, why, { cause });
  }
  const checked = docsSchema.safeParse(value);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw fault(
    file,
    `the description of '${name}' must have its keys`,
    `${issue?.path.join(".")}: ${issue?.message}`,
  );
}

function fault({ name }: CommandFile, needed: string, found: string, options?: ErrorOptions): SyntaxError {
  return new SyntaxError(`Cannot read command file '${name}' as ${needed}: ${found}`, options);
}

/** Style of the command docs: `detailed` with arguments, `plain` with a line for each command. */
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

/** Returns the line that ends the text of a command, for each command with such a line. */
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
