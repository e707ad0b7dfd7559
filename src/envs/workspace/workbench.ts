import { z } from "zod";
import { SandboxError } from "../../errors.ts";
import type { PythonSession } from "../../sandbox/exec.ts";
import type { AgentConfig, CommandFile } from "./agent_config.ts";
import { type CommandResult, type CommandTimeouts, toCommandResult } from "./command_end.ts";
import type { Submission } from "./evaluation.ts";
import { SHELL_SUPPORT, toShellSource } from "./commands/agent_commands.ts";
import { commandNameOf } from "./commands/command_file.ts";
import { quoteShellWord, shellAssignment } from "./shell_words.ts";
import { readSubmission, type SubmissionResult } from "./submission_files.ts";
import { AGENT_HOME, COMMANDS_FOLDER, WORKSPACE_FOLDER } from "./workspace_place.ts";

/** Initial contents of an episode's shell. */
export interface AgentShellParts {
  readonly agent: AgentConfig;
  readonly starter: Submission;
}

/** Options of the methods of {@linkcode AgentShell}. */
export interface AgentShellOptions {
  signal?: AbortSignal | undefined;
}

const PREPARATION_TIMEOUT_MS = 20_000;
/** Short, because an agent can make the state command slow. */
const STATE_TIMEOUT_MS = 5_000;
/** Maximum length of a path. */
const MAX_PATH_CHARACTERS = 4_096;

/** Host side of the session that an agent works in. It validates everything that the session returns. */
export class AgentShell {
  readonly #session: PythonSession;
  readonly #files: ReadonlyMap<string, Uint8Array | string>;
  readonly #preparation: string;
  readonly #stateCommand: string | undefined;

  /** @throws {SyntaxError} if one of the agent's variables has no valid shell name. */
  constructor(session: PythonSession, { agent: { tools }, starter }: AgentShellParts) {
    this.#session = session;
    const programs = tools.commandFiles.filter(({ kind }) => kind !== "source");
    this.#files = new Map<string, Uint8Array | string>([
      ...[...starter].map(([path, contents]) => [`${inHome(WORKSPACE_FOLDER)}/${path}`, contents] as const),
      ...programs.map(({ name, contents }) => [`${inHome(COMMANDS_FOLDER)}/${name}`, contents] as const),
    ]);
    this.#preparation = preparationScript(tools);
    this.#stateCommand = tools.stateCommand?.name;
  }

  /**
   * Resets the session to the start of an episode.
   *
   * @throws {SandboxError} if the shell cannot run the agent's command files; the message has the reason.
   */
  async start(options: AgentShellOptions & { seed?: number | undefined } = {}): Promise<void> {
    const { seed, signal } = options;
    const session = this.#session;
    await session.reset({ mode: "rewind", seed, signal });
    await Promise.all([...this.#files].map(([path, contents]) => session.writeFile(path, contents)));
    const result = await session.shell(this.#preparation, { timeoutMs: PREPARATION_TIMEOUT_MS, signal });
    if (result.status === "ok") return;
    const why = "error" in result ? result.error.message : result.stderr.trim();
    throw new SandboxError(`Cannot prepare workspace as the agent's command files must run: ${why}`);
  }

  /** Runs an agent's command. Its failure is a result. */
  async run(command: string, limits: CommandTimeouts & AgentShellOptions): Promise<CommandResult> {
    let output = "";
    const onOutput = (_stream: string, text: string) => void (output += text);
    const result = await this.#session.shell(command, { ...limits, onOutput });
    return toCommandResult(output, result, limits);
  }

  /**
   * Returns the state as JSON, with at least `open_file` and `working_dir`; `undefined` if the shell was lost.
   *
   * Commands find the last action in the variable `LAST_ACTION`.
   */
  async state(lastAction: string, { signal }: AgentShellOptions = {}): Promise<string | undefined> {
    const limits = { timeoutMs: STATE_TIMEOUT_MS, signal };
    const note = `export LAST_ACTION=${quoteShellWord(lastAction.trim())}`;
    const shown = await this.#session.shell(`${note}\n${OPEN_FILE}`, limits);
    if (!shown.stateKept || shown.restarted) return undefined;
    const isPath = shown.status === "ok" && shown.stdout !== "" && shown.stdout.length <= MAX_PATH_CHARACTERS;
    const state = { open_file: isPath ? shown.stdout : "n/a", working_dir: shown.cwd };
    if (this.#stateCommand === undefined) return JSON.stringify(state);
    const result = await this.#session.shell(this.#stateCommand, limits);
    return result.stateKept ? JSON.stringify({ ...state, ...valuesIn(result.stdout) }) : undefined;
  }

  /** Reads the agent's submission. */
  async submission(paths: readonly string[], options: AgentShellOptions = {}): Promise<SubmissionResult> {
    return await readSubmission(this.#session, paths, options);
  }
}

/** Prints the path of the open file. */
const OPEN_FILE = `[ -z "$CURRENT_FILE" ] || printf %s "$(realpath "$CURRENT_FILE")"`;

function preparationScript({ commandFiles, variables, stateCommand }: AgentConfig["tools"]): string {
  const filesOfKind = (kind: string) => commandFiles.filter((file) => file.kind === kind);
  return [
    `mkdir -p ${WORKSPACE_FOLDER} ${COMMANDS_FOLDER}`,
    `export LAST_ACTION=''`,
    ...Object.entries(variables).map(([name, value]) => shellAssignment(name, value)),
    SHELL_SUPPORT,
    ...(stateCommand ? [stateCommand.code] : []),
    ...filesOfKind("source").map(toShellSource),
    ...filesOfKind("script").map(programFunction),
    `cd ${WORKSPACE_FOLDER}`,
  ].join("\n");
}

/** Returns a shell function that runs a program, because the sandbox's shell has no `PATH` to search. */
function programFunction(file: CommandFile): string {
  const runner = /^\s*#!.*python/.test(file.contents) ? "python" : "bash";
  return `${commandNameOf(file)}() { ${runner} ${quoteShellWord(`${COMMANDS_FOLDER}/${file.name}`)} "$@"; }`;
}

function inHome(path: string): string {
  return path.slice(AGENT_HOME.length + 1);
}

const stateSchema = z.record(
  z.string(),
  z.union([z.string().max(MAX_PATH_CHARACTERS), z.number(), z.boolean()]),
);

/** Parses the output of a state command. Anything but an object of plain values gives an empty object. */
function valuesIn(text: string): Readonly<Record<string, unknown>> {
  try {
    return stateSchema.parse(JSON.parse(text));
  } catch {
    return {}; // most likely an unescaped quote in a path; the env's own values are used
  }
}
