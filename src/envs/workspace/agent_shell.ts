import * as z from "zod";
import { SandboxError } from "../../errors.ts";
import type { PythonSession } from "../../sandbox/contract/pool.ts";
import type { ShellDeadline, ShellResult } from "../../sandbox/contract/shell.ts";
import type { AgentConfig, CommandFile } from "./agent_config.ts";
import { commandNameOf, SHELL_SUPPORT, toShellSource } from "./commands/commands.ts";
import type { Submission } from "./evaluation.ts";
import { readSubmission, type SubmissionResult } from "./submission_files.ts";
import { AGENT_HOME, COMMANDS_FOLDER, WORKSPACE_FOLDER } from "./task.ts";
import { parseUntrustedJson } from "../../json.ts";

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

/** Host side of the session that an agent works in. The host checks everything that the session returns. */
export class AgentShell {
  readonly #session: PythonSession;
  readonly #files: ReadonlyMap<string, Uint8Array | string>;
  readonly #preparation: string;
  readonly #stateCommand: string | undefined;

  /** @throws {SyntaxError} if a variable of the agent has no valid shell name. */
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

  /** Runs an agent's command. A failure is a result. */
  async run(command: string, limits: CommandTimeouts & AgentShellOptions): Promise<CommandResult> {
    let output = "";
    const onOutput = (_stream: string, text: string) => void (output += text);
    const result = await this.#session.shell(command, { ...limits, onOutput });
    return toObservedResult(output, result, limits);
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
    return stateSchema.parse(parseUntrustedJson(text));
  } catch {
    return {}; // most likely an unescaped quote in a path; the env's own values are used
  }
}

/** Result of an agent's command. */
export interface CommandResult {
  /** Output of the command, and a note for the agent if the command was stopped. */
  readonly output: string;
  /** False if the shell and all files were lost. */
  readonly stateKept: boolean;
}

/** Time limits of a command, in milliseconds. */
export interface CommandTimeouts {
  readonly timeoutMs: number;
  /** Maximum time without output. */
  readonly silenceMs?: number | undefined;
}

/** Returns the result of a command as the agent sees it. */
function toObservedResult(
  printed: string,
  result: ShellResult,
  limits: CommandTimeouts,
): CommandResult {
  const kept = result.stateKept && !result.restarted;
  const notes = [
    result.truncated ? "[What it printed beyond this was dropped.]" : "",
    stopNote(result, limits),
    kept ? "" : LOST,
  ].filter((note) => note !== "");
  const text = printed.replace(/\n$/, "");
  const output = [...(text === "" ? [] : [text]), ...notes].join("\n");
  return { output, stateKept: kept };
}

const LOST = "[The shell was lost, and all files with it: the episode cannot go on.]";

/** Returns the note for the agent about a command that was stopped. */
function stopNote(result: ShellResult, limits: CommandTimeouts): string {
  switch (result.status) {
    case "ok":
    case "exited":
      return "";
    case "timeout":
      return timeoutNote(result.deadline, limits);
    case "memory":
      return "[The command was stopped as it took too much memory.]";
    case "output":
      return "[The command was stopped as it printed too much.]";
    case "crashed":
      return "[The command took the interpreter down.]";
  }
}

function timeoutNote(deadline: ShellDeadline, { timeoutMs, silenceMs = timeoutMs }: CommandTimeouts): string {
  switch (deadline) {
    case "run":
      return `[The command was stopped as it was not done after ${seconds(timeoutMs)}.]`;
    case "silence":
      return `[The command was stopped as it printed nothing for ${seconds(silenceMs)}.]`;
    case "cpu":
      return "[The command was stopped as it used up its CPU time.]";
  }
}

function seconds(ms: number): string {
  return ms === 1000 ? "1 second" : `${ms / 1000} seconds`;
}

/** Quotes a text as a single word of a command line. NUL characters are removed. */
function quoteShellWord(text: string): string {
  return `'${text.replaceAll("\0", "").replaceAll("'", `'\\''`)}'`;
}

/**
 * Returns the line that sets a shell variable. A text such as `()` or `(a b)` makes the variable an array.
 *
 * @throws {SyntaxError} if the name is not a valid variable name.
 */
function shellAssignment(name: string, value: string | number): string {
  if (!/^[A-Za-z_]\w*$/.test(name)) {
    throw new SyntaxError(
      `Cannot set shell variable as its name must be letters, digits and '_': current value is '${name}'`,
    );
  }
  const text = String(value);
  return `${name}=${/^\([^()]*\)$/.test(text) ? text : quoteShellWord(text)}`;
}
