import { z } from "zod";
import { SandboxError } from "../../errors.ts";
import type { PythonSession } from "../../sandbox/exec.ts";
import type { AgentConfig, CommandFile } from "./agent_config.ts";
import { type CommandEnd, commandEnd, type CommandTimes } from "./command_end.ts";
import type { Submission } from "./evaluation.ts";
import { SHELL_SUPPORT, shellSource } from "./commands/agent_commands.ts";
import { scriptName } from "./commands/command_file.ts";
import { assignment, shellWord } from "./shell_words.ts";
import { type HandedIn, submissionFiles } from "./submission_files.ts";
import { AGENT_HOME, COMMANDS, WORKSPACE } from "./workspace_place.ts";

/** What an episode starts with. */
export interface WorkbenchParts {
  readonly agent: AgentConfig;
  readonly starter: Submission;
}

/** What a request to a {@linkcode Workbench} may be given. */
export interface WorkbenchOptions {
  signal?: AbortSignal | undefined;
}

const PREPARATION_TIMEOUT_MS = 20_000;
/** The state is a glance; an agent may have put something slow in the way of it. */
const STATE_TIMEOUT_MS = 5_000;
/** As long as a path may be. */
const MAX_PATH_CHARACTERS = 4_096;

/** The host's side of the session that an agent works in. What comes from it is checked here. */
export class Workbench {
  readonly #session: PythonSession;
  readonly #files: ReadonlyMap<string, Uint8Array | string>;
  readonly #preparation: string;
  readonly #stateCommand: string | undefined;

  /** @throws {SyntaxError} when one of the agent's variables has a name that a shell does not know. */
  constructor(session: PythonSession, { agent: { tools }, starter }: WorkbenchParts) {
    this.#session = session;
    const programs = tools.commandFiles.filter(({ kind }) => kind !== "source");
    this.#files = new Map<string, Uint8Array | string>([
      ...[...starter].map(([path, contents]) => [`${inHome(WORKSPACE)}/${path}`, contents] as const),
      ...programs.map(({ name, contents }) => [`${inHome(COMMANDS)}/${name}`, contents] as const),
    ]);
    this.#preparation = preparation(tools);
    this.#stateCommand = tools.stateCommand?.name;
  }

  /**
   * Puts everything to how an episode finds it.
   *
   * @throws {SandboxError} when the agent's command files cannot be read by the shell; the message has its reason.
   */
  async start(options: WorkbenchOptions & { seed?: number | undefined } = {}): Promise<void> {
    const { seed, signal } = options;
    const session = this.#session;
    await session.reset({ mode: "rewind", seed, signal });
    await Promise.all([...this.#files].map(([path, contents]) => session.writeFile(path, contents)));
    const result = await session.shell(this.#preparation, { timeoutMs: PREPARATION_TIMEOUT_MS, signal });
    if (result.status === "ok") return;
    const why = "error" in result ? result.error.message : result.stderr.trim();
    throw new SandboxError(`Cannot prepare workspace as the agent's command files must run: ${why}`);
  }

  /** Runs an agent's command; what it does is a result. */
  async run(command: string, limits: CommandTimes & WorkbenchOptions): Promise<CommandEnd> {
    let printed = "";
    const onOutput = (_stream: string, text: string) => void (printed += text);
    const result = await this.#session.shell(command, { ...limits, onOutput });
    return commandEnd(printed, result, limits);
  }

  /**
   * The state as JSON, `open_file` and `working_dir` at least. Commands find the action that led to it in
   * `LAST_ACTION`. `undefined` when the shell did not survive it.
   */
  async state(lastAction: string, { signal }: WorkbenchOptions = {}): Promise<string | undefined> {
    const asked = { timeoutMs: STATE_TIMEOUT_MS, signal };
    const note = `export LAST_ACTION=${shellWord(lastAction.trim())}`;
    const own = await this.#session.shell(`${note}\n${OPEN_FILE}`, asked);
    if (!own.stateKept || own.restarted) return undefined;
    const isPath = own.status === "ok" && own.stdout !== "" && own.stdout.length <= MAX_PATH_CHARACTERS;
    const state = { open_file: isPath ? own.stdout : "n/a", working_dir: own.cwd };
    if (this.#stateCommand === undefined) return JSON.stringify(state);
    const told = await this.#session.shell(this.#stateCommand, asked);
    return told.stateKept ? JSON.stringify({ ...state, ...valuesIn(told.stdout) }) : undefined;
  }

  /** What the agent hands in. */
  async handIn(paths: readonly string[], options: WorkbenchOptions = {}): Promise<HandedIn> {
    return await submissionFiles(this.#session, paths, options);
  }
}

/** Prints the file that the commands have open. */
const OPEN_FILE = `[ -z "$CURRENT_FILE" ] || printf %s "$(realpath "$CURRENT_FILE")"`;

function preparation({ commandFiles, variables, stateCommand }: AgentConfig["tools"]): string {
  const contentsOf = (kind: string) => commandFiles.filter((file) => file.kind === kind);
  return [
    `mkdir -p ${WORKSPACE} ${COMMANDS}`,
    `export LAST_ACTION=''`,
    ...Object.entries(variables).map(([name, value]) => assignment(name, value)),
    SHELL_SUPPORT,
    ...(stateCommand ? [stateCommand.code] : []),
    ...contentsOf("source").map(shellSource),
    ...contentsOf("script").map(programFunction),
    `cd ${WORKSPACE}`,
  ].join("\n");
}

/** A program as a function of its stem's name: a workspace has no paths of programs to look in. */
function programFunction(file: CommandFile): string {
  const runner = /^\s*#!.*python/.test(file.contents) ? "python" : "bash";
  return `${scriptName(file)}() { ${runner} ${shellWord(`${COMMANDS}/${file.name}`)} "$@"; }`;
}

function inHome(path: string): string {
  return path.slice(AGENT_HOME.length + 1);
}

const stateSchema = z.record(
  z.string(),
  z.union([z.string().max(MAX_PATH_CHARACTERS), z.number(), z.boolean()]),
);

/** What a state command tells; nothing where it printed no object of plain values. */
function valuesIn(text: string): Readonly<Record<string, unknown>> {
  try {
    return stateSchema.parse(JSON.parse(text));
  } catch {
    return {}; // a path with a quote in it, most likely: what the env knows by itself is told
  }
}
