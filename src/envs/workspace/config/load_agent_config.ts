import { basename } from "node:path";
import { z } from "zod";
import { errorMessage } from "../../../errors.ts";
import { History } from "../../../history.ts";
import type { AgentConfig, AgentTools, CommandFile } from "../agent_config.ts";
import { defaultCommands, submitCommands } from "../commands/agent_commands.ts";
import { toCommandFile } from "../commands/command_file.ts";
import { REPLY_PARSERS } from "../replies/reply_parsers.ts";
import { type CommandTools, toCommandTools } from "./agent_tools.ts";
import { agentSchema, type AgentYaml, lastObservationsOf } from "./agent_schema.ts";
import { CheckoutPaths } from "./checkout_paths.ts";
import {
  DEFAULT_AGENT,
  DEFAULT_BLOCKLIST,
  DEFAULT_BLOCKLIST_ERROR,
  DEFAULT_BLOCKLIST_STANDALONE,
  DEFAULT_VARIABLES,
} from "./default_agent.ts";
import { YamlFile } from "./yaml_file.ts";

/** Agent YAML that is being read. */
interface AgentFile {
  readonly file: YamlFile;
  readonly paths: CheckoutPaths;
}

/** Contents of the files that an agent names. */
interface ReadFiles {
  readonly demonstrations: readonly History[];
  readonly commands: CommandTools;
}

const demonstrationSchema = z.looseObject({
  history: z.array(z.looseObject({ role: z.string(), content: z.string().nullish() })),
});

/**
 * Reads an agent from a YAML file with MLGym's keys. Without a path, it returns Paddock's own agent.
 *
 * @throws {Deno.errors.NotFound} if the file does not exist.
 * @throws {SyntaxError} if it is not a valid agent, or names a missing file; the message has the file and the line.
 */
export async function loadAgentConfig(path?: string): Promise<AgentConfig> {
  if (path === undefined) return defaultAgent();
  const file = await YamlFile.read(path, "agent");
  const yaml = file.parse(agentSchema);
  const agent = { file, paths: await CheckoutPaths.of(path) };
  const demonstrations: History[] = [];
  for (const [index, named] of (yaml.demonstrations ?? []).entries()) {
    demonstrations.push(await readDemonstration(agent, named, index));
  }
  requireDemonstrationFormat(agent, yaml);
  return agentFrom(yaml, { demonstrations, commands: await commandsOf(agent, yaml) });
}

function defaultAgent(): AgentConfig {
  const commands = toCommandTools(defaultCommands(), { variables: DEFAULT_VARIABLES, style: "detailed" });
  return agentFrom(agentSchema.parse(DEFAULT_AGENT), { demonstrations: [], commands });
}

function agentFrom(yaml: AgentYaml, read: ReadFiles): AgentConfig {
  const nextStep = yaml.next_step_template ?? yaml.task_template;
  const parser = yaml.output_parser ?? "ThoughtActionParser";
  const last = lastObservationsOf(yaml.history_processor, yaml.history_processor_args);
  return {
    systemTemplate: yaml.system_template,
    taskTemplate: yaml.task_template,
    nextStepTemplate: nextStep,
    nextStepNoOutputTemplate: yaml.next_step_no_output_template ?? nextStep,
    strategyTemplate: yaml.strategy_template ?? undefined,
    demonstrationTemplate: yaml.demonstration_template ?? undefined,
    demonstrations: read.demonstrations,
    putDemosInHistory: yaml.put_demos_in_history ?? false,
    formatErrorTemplate: yaml.format_error_template ?? REPLY_PARSERS[parser]?.formatError ?? "",
    outputParser: parser,
    lastObservations: typeof last === "number" ? last : undefined,
    tools: toolsOf(yaml, read.commands),
  };
}

function toolsOf({ tools }: AgentYaml, commands: CommandTools): AgentTools {
  return {
    stateCommand: tools?.state_command ?? undefined,
    variables: tools?.env_variables ?? DEFAULT_VARIABLES,
    ...commands,
    submitCommand: tools?.submit_command ?? "submit",
    blocklist: tools?.blocklist ?? DEFAULT_BLOCKLIST,
    blocklistStandalone: tools?.blocklist_standalone ?? DEFAULT_BLOCKLIST_STANDALONE,
    blocklistErrorTemplate: tools?.blocklist_error_template ?? DEFAULT_BLOCKLIST_ERROR,
  };
}

function requireDemonstrationFormat({ file }: AgentFile, yaml: AgentYaml): void {
  if (!yaml.demonstrations?.length || yaml.put_demos_in_history || yaml.demonstration_template) return;
  throw file.fault(
    ["demonstrations"],
    "'demonstrations' needs 'demonstration_template' or 'put_demos_in_history': both are missing",
  );
}

async function readNamed(
  { file, paths }: AgentFile,
  named: string,
  key: readonly PropertyKey[],
): Promise<string> {
  const path = await paths.find(named);
  if (path === undefined) {
    throw file.fault(key, `'${String(key.at(-2))}' must name an existing file: there is no '${named}'`);
  }
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    throw file.fault(key, `'${named}' must be a readable file: ${String(cause)}`, { cause });
  }
}

/** Reads the chat of an MLGym trajectory, without its system messages. */
async function readDemonstration(agent: AgentFile, named: string, index: number): Promise<History> {
  const key = ["demonstrations", index];
  const text = await readNamed(agent, named, key);
  try {
    const { history } = demonstrationSchema.parse(JSON.parse(text));
    const messages = history.filter(({ role }) => role !== "system");
    return History.fromChats(messages.map(({ role, content }) => ({ role, content: content ?? "" })));
  } catch (cause) {
    throw agent.file.fault(key, `'${named}' must be JSON with a 'history' of messages: it has another form`, {
      cause,
    });
  }
}

/**
 * Returns the commands of the files that the YAML names, with Paddock's `validate` and `submit` if none of them can
 * submit. If the YAML names no command files, it returns all of Paddock's commands.
 */
async function commandsOf(agent: AgentFile, { tools }: AgentYaml): Promise<CommandTools> {
  const variables = tools?.env_variables ?? DEFAULT_VARIABLES;
  const style = tools?.parser === "ParseCommandBash" ? "plain" : "detailed";
  const named = tools?.command_files;
  if (!named) return toCommandTools(defaultCommands(), { variables, style });
  const files: CommandFile[] = [];
  for (const [index, path] of named.entries()) files.push(await readCommandFile(agent, path, index));
  try {
    const own = toCommandTools(files, { variables, style });
    const submit = tools.submit_command ?? "submit";
    if (own.commands?.some(({ name }) => name === submit)) return own;
    return toCommandTools([...files, submitCommands()], { variables, style });
  } catch (cause) {
    throw agent.file.fault(
      ["tools", "command_files"],
      errorMessage(cause),
      { cause },
    );
  }
}

async function readCommandFile(agent: AgentFile, named: string, index: number): Promise<CommandFile> {
  const key = ["tools", "command_files", index];
  const contents = await readNamed(agent, named, key);
  try {
    return toCommandFile(basename(named), contents);
  } catch (cause) {
    throw agent.file.fault(key, errorMessage(cause), { cause });
  }
}
