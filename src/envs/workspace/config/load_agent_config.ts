import { basename } from "node:path";
import { z } from "zod";
import { History } from "../../../history.ts";
import type { AgentConfig, AgentTools, CommandFile } from "../agent_config.ts";
import { REPLY_PARSERS } from "../replies/reply_parsers.ts";
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

/** An agent YAML while it is read. */
interface AgentFile {
  readonly file: YamlFile;
  readonly paths: CheckoutPaths;
}

const demonstrationSchema = z.looseObject({
  history: z.array(z.looseObject({ role: z.string(), content: z.string().nullish() })),
});

/**
 * Reads what an agent is told and may use: a YAML file with MLGym's keys; Paddock's own agent where none is given.
 *
 * @throws {Deno.errors.NotFound} when there is no such file.
 * @throws {SyntaxError} when it is no agent, or names a file that is not there, with the file and the line.
 */
export async function loadAgentConfig(path?: string): Promise<AgentConfig> {
  if (path === undefined) {
    return agentOf(agentSchema.parse(DEFAULT_AGENT), { demonstrations: [], commandFiles: [] });
  }
  const file = await YamlFile.read(path, "agent");
  const yaml = file.checked(agentSchema);
  const agent = { file, paths: await CheckoutPaths.of(path) };
  const demonstrations: History[] = [];
  for (const [index, named] of (yaml.demonstrations ?? []).entries()) {
    demonstrations.push(await readDemonstration(agent, named, index));
  }
  const commandFiles: CommandFile[] = [];
  for (const [index, named] of (yaml.tools?.command_files ?? []).entries()) {
    commandFiles.push(await readCommandFile(agent, named, index));
  }
  requireDemonstrated(agent, yaml);
  return agentOf(yaml, { demonstrations, commandFiles });
}

function agentOf(
  yaml: AgentYaml,
  read: Pick<AgentConfig, "demonstrations"> & Pick<AgentTools, "commandFiles">,
): AgentConfig {
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
    tools: toolsOf(yaml, read.commandFiles),
  };
}

function toolsOf({ tools }: AgentYaml, commandFiles: readonly CommandFile[]): AgentTools {
  return {
    stateCommand: tools?.state_command ?? undefined,
    variables: tools?.env_variables ?? DEFAULT_VARIABLES,
    commandFiles,
    commandDocs: "",
    endNames: {},
    submitCommand: tools?.submit_command ?? "submit",
    blocklist: tools?.blocklist ?? DEFAULT_BLOCKLIST,
    blocklistStandalone: tools?.blocklist_standalone ?? DEFAULT_BLOCKLIST_STANDALONE,
    blocklistErrorTemplate: tools?.blocklist_error_template ?? DEFAULT_BLOCKLIST_ERROR,
  };
}

function requireDemonstrated({ file }: AgentFile, yaml: AgentYaml): void {
  if (!yaml.demonstrations?.length || yaml.put_demos_in_history || yaml.demonstration_template) return;
  throw file.fault(
    ["demonstrations"],
    "demonstrations must have a 'demonstration_template', or 'put_demos_in_history': there is neither",
  );
}

async function readNamed(
  { file, paths }: AgentFile,
  named: string,
  key: readonly PropertyKey[],
): Promise<string> {
  const path = await paths.find(named);
  if (path === undefined) {
    throw file.fault(key, `'${String(key.at(-2))}' must name what is there: there is no '${named}'`);
  }
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    throw file.fault(key, `'${named}' must be a file that can be read: ${String(cause)}`, { cause });
  }
}

/** Reads a trajectory of MLGym: its chat, without what the system said. */
async function readDemonstration(agent: AgentFile, named: string, index: number): Promise<History> {
  const key = ["demonstrations", index];
  const text = await readNamed(agent, named, key);
  try {
    const { history } = demonstrationSchema.parse(JSON.parse(text));
    const said = history.filter(({ role }) => role !== "system");
    return History.fromChats(said.map(({ role, content }) => ({ role, content: content ?? "" })));
  } catch (cause) {
    throw agent.file.fault(key, `'${named}' must be JSON with a 'history' of messages: it is none`, {
      cause,
    });
  }
}

async function readCommandFile(agent: AgentFile, named: string, index: number): Promise<CommandFile> {
  const key = ["tools", "command_files", index];
  const contents = await readNamed(agent, named, key);
  const name = basename(named);
  if (contents.trimStart().startsWith("#!")) return { name, kind: "script", contents };
  if (name.endsWith(".sh")) return { name, kind: "source", contents };
  if (name.startsWith("_")) return { name, kind: "utility", contents };
  throw agent.file.fault(
    key,
    `'${named}' must end in .sh, begin with '#!', or be a utility whose name begins with '_': it is none of these`,
  );
}
