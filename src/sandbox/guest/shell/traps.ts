import type { CommandOutput, ScriptInterpreter } from "./terminal.ts";

/** The parts of the engine's state that traps need. */
interface TrapState {
  /** Number of the virtual process: each subshell and substitution has one. */
  readonly bashPid: number;
  lastExitCode: number;
}

interface Traps {
  /** Commands by signal, such as `EXIT` or `SIGINT`. */
  readonly commands: Map<string, string>;
  /** True while a script of the process runs, at whose end the command of `EXIT` runs. */
  isRunning: boolean;
}

const SIGNALS = [
  "EXIT",
  ..."HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU"
    .split(" "),
];
/** Conditions of bash that are no signals. */
const UNAVAILABLE = new Set(["ERR", "DEBUG", "RETURN"]);

/** The commands of `trap`. Those of signals are kept and listed, but no signal arrives in the sandbox. */
export class ShellTraps {
  readonly #traps = new WeakMap<object, Map<number, Traps>>();
  readonly #bodies = new WeakSet<object>();

  /** Runs the command of `EXIT` at the end of each script and subshell of an interpreter. */
  attach(interpreter: ScriptInterpreter, state: TrapState): void {
    const { ctx } = interpreter;
    const script = (interpreter as unknown as { executeScript: ScriptInterpreter["ctx"]["executeScript"] })
      .executeScript.bind(interpreter);
    const executeScript: typeof script = (...args) => {
      return this.#runToEnd(interpreter, state, () => script(...args));
    };
    Object.assign(interpreter, { executeScript });
    ctx.executeScript = executeScript;
    const command = interpreter.executeCommand.bind(interpreter);
    interpreter.executeCommand = ctx.executeCommand = (node, ...rest) => {
      if (this.#bodies.has(node)) {
        return this.#runToEnd(interpreter, state, () => command(node, ...rest));
      }
      return command(node.type === "Subshell" ? this.#wrapBody(node) : node, ...rest);
    };
  }

  /** `trap`. Returns the output and exit code. */
  run(args: readonly string[], state: TrapState): CommandOutput {
    const { commands } = this.#of(state);
    const words = args[0] === "--" ? args.slice(1) : args;
    const [first, ...signals] = words;
    if (first === "-l") {
      const list = SIGNALS.slice(1).map((name, at) => `${at + 1}) SIG${name}\n`).join("");
      return { stdout: list, stderr: "", exitCode: 0 };
    }
    if (first === undefined || first === "-p") {
      const wanted = signals.map((text) => signalOf(text) ?? text);
      const listed = SIGNALS.map(fullName).filter((name) =>
        commands.has(name) && (wanted.length === 0 || wanted.includes(name))
      );
      const lines = listed.map((name) => `trap -- ${quote(commands.get(name) ?? "")} ${name}\n`);
      return { stdout: lines.join(""), stderr: "", exitCode: 0 };
    }
    if (/^-[^-]/.test(first)) {
      return { stdout: "", stderr: `bash: trap: ${first}: invalid option\n`, exitCode: 2 };
    }
    if (signals.length === 0 && signalOf(first) === undefined) {
      const stderr = "trap: usage: trap [-lp] [[arg] signal_spec ...]\n";
      return { stdout: "", stderr, exitCode: 2 };
    }
    const [action, names] = signals.length === 0 || /^\d+$/.test(first) ? ["-", words] : [first, signals];
    let stderr = "";
    for (const text of names) {
      const name = signalOf(text);
      if (UNAVAILABLE.has(text.toUpperCase())) {
        if (action !== "-") stderr += `bash: trap: ${text} is not available in the sandbox\n`;
      } else if (name === undefined) stderr += `bash: trap: ${text}: invalid signal specification\n`;
      else if (action === "-") commands.delete(name);
      else commands.set(name, action);
    }
    return { stdout: "", stderr, exitCode: stderr === "" ? 0 : 1 };
  }

  #of(state: TrapState): Traps {
    const processes = this.#traps.get(state) ?? new Map<number, Traps>();
    this.#traps.set(state, processes);
    const pid = state.bashPid;
    const traps = processes.get(pid) ?? { commands: new Map(), isRunning: false };
    processes.set(pid, traps);
    return traps;
  }

  /** Returns a subshell whose body is one group, at whose end the command of `EXIT` runs. */
  #wrapBody<Node extends { readonly type: string; readonly body?: object }>(node: Node): Node {
    const body = { type: "Group", body: node.body, redirections: [] };
    this.#bodies.add(body);
    const pipeline = { type: "Pipeline", commands: [body], negated: false };
    const statement = { type: "Statement", pipelines: [pipeline], operators: [], background: false };
    return { ...node, body: [statement] };
  }

  async #runToEnd(
    interpreter: ScriptInterpreter,
    state: TrapState,
    run: () => Promise<CommandOutput>,
  ): Promise<CommandOutput> {
    const traps = this.#of(state);
    if (traps.isRunning) return await run(); // `eval`, `source` or a group of the running script
    traps.isRunning = true;
    try {
      const end = await endOf(run);
      const action = traps.commands.get("EXIT");
      traps.commands.delete("EXIT");
      if (!action) return end.finish();
      state.lastExitCode = end.output.exitCode;
      const last = await endOf(() => interpreter.executeCommand(evalNode(action)));
      return end.finish(last.output, last.wasThrown);
    } finally {
      traps.isRunning = false;
    }
  }
}

/** An end of a script by `exit`, which the engine throws. */
interface ExitError {
  stdout: string;
  stderr: string;
  exitCode: number;
}

function isExit(error: unknown): error is ExitError {
  return typeof error === "object" && error !== null && "exitCode" in error && "stdout" in error &&
    typeof error.exitCode === "number" && typeof error.stdout === "string";
}

interface ScriptEnd {
  readonly output: CommandOutput;
  readonly wasThrown: boolean;
  /** Ends as the script did, with the output of a command behind it. */
  finish(last?: CommandOutput, exits?: boolean): CommandOutput;
}

/** Runs a script until it returns or exits. */
async function endOf(run: () => Promise<CommandOutput>): Promise<ScriptEnd> {
  const add = (output: CommandOutput, last?: CommandOutput, exits = false) => {
    if (!last) return output;
    const { stdout, stderr, exitCode } = output;
    return {
      ...output,
      stdout: stdout + last.stdout,
      stderr: stderr + last.stderr,
      exitCode: exits ? last.exitCode : exitCode,
    };
  };
  try {
    const output = await run();
    return { output, wasThrown: false, finish: (last, exits) => add(output, last, exits) };
  } catch (error) {
    if (!isExit(error)) throw error;
    const { stdout, stderr, exitCode } = error;
    const output = { stdout, stderr, exitCode };
    return {
      output,
      wasThrown: true,
      finish: (last, exits) => {
        throw Object.assign(error, add(output, last, exits));
      },
    };
  }
}

function evalNode(text: string): Parameters<ScriptInterpreter["executeCommand"]>[0] {
  const word = (part: object) => ({ type: "Word", parts: [part] });
  const node = {
    type: "SimpleCommand",
    assignments: [],
    name: word({ type: "Literal", value: "eval" }),
    args: [word({ type: "SingleQuoted", value: text })],
    redirections: [],
  };
  return node;
}

function fullName(name: string): string {
  return name === "EXIT" ? name : `SIG${name}`;
}

/** Returns the full name of a signal that a word names, by its name or number. */
function signalOf(text: string): string | undefined {
  const name = /^\d+$/.test(text) ? SIGNALS[Number(text)] : text.toUpperCase().replace(/^SIG/, "");
  return name !== undefined && SIGNALS.includes(name) ? fullName(name) : undefined;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
