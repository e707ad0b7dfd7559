import { basename } from "node:path";
import * as z from "zod";
import { errorMessage } from "../../../errors.ts";
import { History } from "../../../history.ts";
import type { AgentConfig, AgentTools, CommandFile } from "../agent_config.ts";
import { defaultCommands, submitCommands, toCommandFile } from "../commands/commands.ts";
import { REPLY_PARSERS } from "../replies/reply_parsers.ts";
import { type CommandTools, toCommandTools } from "./agent_tools.ts";
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
 * Reads an agent from a YAML file with MLGym's keys. Without a path, returns Paddock's own agent.
 *
 * @throws {Deno.errors.NotFound} if the file does not exist.
 * @throws {SyntaxError} if the file is not a valid agent, or names a missing file; the message has the file and the
 * line.
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

/** Reads the chat of an MLGym trajectory, without system messages. */
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
 * submit. If the YAML names no command files, all of Paddock's commands are returned.
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

const text = z.string({ error: "must be a text" });
const texts = z.array(text, { error: "must be a list of texts" });
const paths = z.array(text.min(1, { error: "must be a path" }), { error: "must be a list of paths" });
const positiveInt = z.int({ error: "must be a whole number > 0" }).positive({
  error: "must be a whole number > 0",
});

const toolsSchema = z.strictObject({
  state_command: z.strictObject({ name: text, code: text }, { error: "must be a name and a code" }).nullish(),
  env_variables: z.record(
    z.string().regex(/^[A-Za-z_]\w*$/),
    z.union([text, z.number()], { error: "must be a text or a number" }),
    { error: "must be variables of a shell and their values" },
  ).nullish(),
  command_files: paths.nullish(),
  util_functions: texts.nullish(),
  parser: z.enum(["ParseCommandBash", "ParseCommandDetailed"], {
    error: "must be ParseCommandBash or ParseCommandDetailed",
  }).nullish(),
  command_parser: text.nullish(),
  submit_command: text.nullish(),
  blocklist: texts.nullish(),
  blocklist_standalone: texts.nullish(),
  blocklist_error_template: text.nullish(),
}, { error: "must be keys and values" });

/** Schema of an agent YAML, with MLGym's keys. */
const agentSchema = z.strictObject({
  system_template: text,
  task_template: text,
  next_step_template: text.nullish(),
  next_step_no_output_template: text.nullish(),
  strategy_template: text.nullish(),
  demonstration_template: text.nullish(),
  demonstrations: paths.nullish(),
  put_demos_in_history: z.boolean({ error: "must be true or false" }).nullish(),
  format_error_template: text.nullish(),
  output_parser: text.refine((name) => Object.hasOwn(REPLY_PARSERS, name), {
    error: `must be one of ${Object.keys(REPLY_PARSERS).join(", ")}`,
  }).nullish(),
  history_processor: text.refine((name) => lastObservationsOf(name, { n: 1 }) !== "unknown", {
    error: "must be DefaultHistoryProcessor, LastNObservations, Last2Observations or the like",
  }).nullish(),
  history_processor_args: z.strictObject({ n: positiveInt.optional() }, { error: "must be keys and values" })
    .nullish(),
  tools: toolsSchema.nullish(),
});

/** Validated agent YAML. */
export type AgentYaml = z.output<typeof agentSchema>;

/** Returns the number of observations that a history processor of MLGym keeps at full length; `undefined` for all. */
function lastObservationsOf(
  processor: string | null | undefined,
  args: { readonly n?: number | undefined } | null | undefined,
): number | undefined | "unknown" {
  if (processor === undefined || processor === null || processor === "DefaultHistoryProcessor") {
    return undefined;
  }
  if (processor === "LastNObservations") return args?.n;
  const count = /^Last([1-9]\d*)Observations$/.exec(processor)?.[1];
  return count === undefined ? "unknown" : Number(count);
}
