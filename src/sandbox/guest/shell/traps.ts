import { endOf, evalNode, isExit, joinOutputs } from "./script/script_end.ts";
import type { CommandOutput, ScriptInterpreter } from "./terminal.ts";
import type { BuiltinCall, BuiltinInterpreter, ShellState } from "./builtins/builtin.ts";
import { commandText } from "./builtins/function_text.ts";
import { type CommandNode, lineOf, type StatementNode, statementOf, textOf } from "./builtins/nodes.ts";
import { isSet } from "./builtins/shell_options.ts";
import { type Signal, signalOf, signalTable } from "./builtins/signal_names.ts";
import { shortLived } from "./script/short_lived.ts";

/** Options by which functions and subshells keep the commands of conditions that are no signals. */
const CONDITIONS: Readonly<Record<string, string>> = {
  DEBUG: "functrace",
  ERR: "errtrace",
  RETURN: "functrace",
};
/** Types of commands of which a failure concerns `ERR`; the others fail by the commands in them. */
const FAILING = new Set(["SimpleCommand", "Subshell", "ArithmeticCommand", "ConditionalCommand"]);
/** Types of commands before which the command of `DEBUG` runs. */
const DEBUGGED = new Set(["SimpleCommand", "Case", "ArithmeticCommand", "ConditionalCommand"]);
const SIGNAL_CODES = 128;

interface StatementRunner {
  executeStatement(node: StatementNode): Promise<CommandOutput>;
  readonly ctx: { executeStatement: StatementRunner["executeStatement"] };
}

/** The commands of `trap`. */
export class ShellTraps {
  /** Numbers of the processes of a script at whose end the command of `EXIT` runs. */
  readonly #running = new WeakMap<object, Set<number>>();
  readonly #bodies = new WeakMap<object, ReadonlyMap<string, string>>();
  /** Loops whose statements begin with the command of `DEBUG`. */
  readonly #loops = new WeakSet<object>();
  /** Conditions whose command runs. */
  readonly #active = new Set<string>();

  /** Runs commands of traps in scripts of an interpreter. */
  attach(interpreter: ScriptInterpreter, state: object): void {
    const own = interpreter as BuiltinInterpreter;
    const shell = state as ShellState;
    const { ctx } = own;
    const script = (own as unknown as { executeScript: ScriptInterpreter["ctx"]["executeScript"] })
      .executeScript.bind(own);
    const executeScript: typeof script = (...args) => this.#runToEnd(own, shell, () => script(...args));
    Object.assign(own, { executeScript });
    ctx.executeScript = executeScript;
    const command = own.executeCommand.bind(own);
    own.executeCommand = ctx.executeCommand = shortLived((given, ...rest) => {
      const node = given as CommandNode;
      if (node.type === "SimpleCommand" && this.#active.size === 0) this.#last = node;
      const inherited = this.#bodies.get(node);
      if (inherited) {
        for (const [name, action] of inherited) this.#commands(shell).set(name, action);
        if (inherited.size > 0) this.#isInherited.add(this.#commands(shell));
        return this.#runToEnd(own, shell, () => command(given, ...rest));
      }
      if (node.type === "Subshell") return command(this.#wrapBody(node, shell) as typeof given, ...rest);
      const action = shell.traps?.get(shell.bashPid)?.get("DEBUG");
      if (action === undefined || this.#active.size > 0) return command(given, ...rest);
      return this.#debug(own, {
        state: shell,
        node,
        action,
        run: (next) => command(next as typeof given, ...rest),
      });
    });
    const pipeline = own.executePipeline.bind(own);
    own.executePipeline = shortLived((node) => {
      const isParted = node.commands.length > 1 && shell.traps?.get(shell.bashPid)?.has("ERR");
      return isParted ? this.#runParts(shell, () => pipeline(node)) : pipeline(node);
    });
    const runner = own as unknown as StatementRunner;
    const statement = runner.executeStatement.bind(runner);
    runner.executeStatement = runner.ctx.executeStatement = shortLived((node) => {
      if (shell.traps?.get(shell.bashPid)?.get("ERR") === undefined) return statement(node);
      return this.#runCatching(own, { state: shell, node, run: () => statement(node) });
    });
  }

  /** Runs a pipeline whose parts are subshells. Only with `errtrace` do they have the command of `ERR`. */
  async #runParts(state: ShellState, run: () => Promise<CommandOutput>): Promise<CommandOutput> {
    const commands = this.#commands(state);
    const action = commands.get("ERR");
    if (action === undefined || isSet(state, "errtrace")) return await run();
    commands.delete("ERR");
    try {
      return await run();
    } finally {
      if (!commands.has("ERR")) commands.set("ERR", action);
    }
  }

  /** `trap`. Returns the output and exit code. */
  run(args: readonly string[], state: ShellState): CommandOutput {
    const words = args[0] === "--" ? args.slice(1) : args;
    const [first, ...signals] = words;
    if (first === "-l") return { stdout: signalTable(), stderr: "", exitCode: 0 };
    if (first === undefined || first === "-p") return list(this.#listed(state), signals);
    if (/^-[^-]/.test(first)) {
      return { stdout: "", stderr: `bash: trap: ${first}: invalid option\n`, exitCode: 2 };
    }
    if (signals.length === 0 && conditionOf(first) === undefined) {
      const stderr = "trap: usage: trap [-lp] [[arg] signal_spec ...]\n";
      return { stdout: "", stderr, exitCode: 2 };
    }
    const [action, names] = signals.length === 0 || /^\d+$/.test(first) ? ["-", words] : [first, signals];
    let stderr = "";
    const commands = this.#commands(state);
    this.#isInherited.delete(commands);
    for (const text of names) {
      const name = conditionOf(text);
      if (name === undefined) stderr += `bash: trap: ${text}: invalid signal specification\n`;
      else if (action === "-") commands.delete(name);
      else commands.set(name, action);
    }
    return { stdout: "", stderr, exitCode: stderr === "" ? 0 : 1 };
  }

  /** Handles a signal that a shell sends to itself: runs its command, or ends the shell. */
  async raise(signal: Signal, { state, interpreter, run }: BuiltinCall): Promise<CommandOutput> {
    const commands = this.#commands(state);
    const action = signal.canBeTrapped ? commands.get(`SIG${signal.name}`) : undefined;
    if (action !== undefined && action !== "") return await this.#perform(interpreter, state, { action });
    if (action === "" || signal.effect === "ignore") return { stdout: "", stderr: "", exitCode: 0 };
    if (!signal.canBeTrapped) commands.delete("EXIT");
    return await run("exit", [String(SIGNAL_CODES + signal.number)]);
  }

  /** Forgets the command of `EXIT`, as a program that replaces the shell does. */
  forgetExit(state: ShellState): void {
    this.#commands(state).delete("EXIT");
  }

  /** Runs a function, which has the commands of conditions only with the options of `set` for it. */
  async runFunction(
    interpreter: BuiltinInterpreter,
    state: ShellState,
    run: () => Promise<CommandOutput>,
  ): Promise<CommandOutput> {
    const kept = this.#withhold(state);
    try {
      const entered = await this.#enterFunction(interpreter, state);
      const output = entered ? joinOutputs(entered, await run()) : await run();
      const action = state.traps?.get(state.bashPid)?.get("RETURN");
      if (action === undefined || this.#active.has("RETURN")) return output;
      return joinOutputs(output, await this.#perform(interpreter, state, { action, condition: "RETURN" }));
    } catch (error) {
      if (error instanceof Error) this.#caught.add(error); // the function had no command of `ERR`
      throw error;
    } finally {
      for (const [name, action] of kept) {
        const commands = this.#commands(state);
        if (!commands.has(name)) commands.set(name, action);
      }
    }
  }

  /** Runs the command of `DEBUG` once more where a function begins. */
  async #enterFunction(
    interpreter: BuiltinInterpreter,
    state: ShellState,
  ): Promise<CommandOutput | undefined> {
    const action = state.traps?.get(state.bashPid)?.get("DEBUG");
    if (action === undefined || this.#active.size > 0) return undefined;
    return await this.#perform(interpreter, state, { action, condition: "DEBUG" });
  }

  /** Removes the commands that a function does not have, and returns them. */
  #withhold(state: ShellState): [name: string, action: string][] {
    const commands = state.traps?.get(state.bashPid);
    if (!commands) return [];
    const kept = [...commands].filter(([name]) => {
      const option = CONDITIONS[name];
      return option !== undefined && !isSet(state, option);
    });
    for (const [name] of kept) commands.delete(name);
    return kept;
  }

  /** Returns the commands that `trap` lists: a subshell without commands lists the commands of its shell. */
  #listed({ traps, bashPid, virtualPid, currentSource, sourceDepth }: ShellState) {
    const own = traps?.get(bashPid);
    const isProgram = currentSource !== undefined && !sourceDepth;
    if (isProgram || own && !this.#isInherited.has(own)) return own ?? new Map<string, string>();
    return traps?.get(virtualPid) ?? own ?? new Map<string, string>();
  }

  /** Commands that a subshell has from its shell, until the subshell changes them. */
  readonly #isInherited = new WeakSet<ReadonlyMap<string, string>>();

  #commands(state: ShellState): Map<string, string> {
    state.traps ??= new Map();
    const commands = state.traps.get(state.bashPid) ?? new Map<string, string>();
    state.traps.set(state.bashPid, commands);
    return commands;
  }

  /** Returns a subshell whose body is a single group, at whose end the command of `EXIT` runs. */
  #wrapBody(node: CommandNode, state: ShellState): CommandNode {
    const body = { type: "Group", body: node.body ?? [], redirections: [] };
    const kept = [...state.traps?.get(state.bashPid) ?? []].filter(([name, action]) => {
      const option = CONDITIONS[name];
      return option === undefined ? action === "" : isSet(state, option);
    });
    this.#bodies.set(body, new Map(kept));
    return { ...node, body: [statementOf(body)] };
  }

  /** Runs the command of `DEBUG` before a command, and before each round of a loop over words. */
  async #debug(
    interpreter: BuiltinInterpreter,
    { state, node, action, run }: {
      readonly state: ShellState;
      readonly node: CommandNode;
      readonly action: string;
      readonly run: (node: CommandNode) => Promise<CommandOutput>;
    },
  ): Promise<CommandOutput> {
    const text = DEBUGGED.has(node.type) || this.#loops.has(node) ? commandText(node) : "";
    if (node.type === "For" && !this.#loops.has(node)) {
      const mark = { ...node, body: [] };
      this.#loops.add(mark);
      return await run({ ...node, body: [statementOf(mark), ...node.body as readonly StatementNode[]] });
    }
    if (text === "") return await run(node);
    const before = await this.#perform(interpreter, state, { action, condition: "DEBUG", text, node });
    return this.#loops.has(node) ? before : joinOutputs({ ...before, exitCode: 0 }, await run(node));
  }

  /** Runs a statement, and the command of `ERR` if it fails. */
  async #runCatching(
    interpreter: BuiltinInterpreter,
    { state, node, run }: {
      readonly state: ShellState;
      readonly node: StatementNode;
      readonly run: () => Promise<CommandOutput>;
    },
  ): Promise<CommandOutput> {
    const perform = async (): Promise<CommandOutput | undefined> => {
      const action = state.traps?.get(state.bashPid)?.get("ERR");
      if (action === undefined || state.inCondition || this.#active.has("ERR")) return undefined;
      const [last, ...others] = node.pipelines.at(-1)?.commands.toReversed() ?? [];
      if (!last || (others.length === 0 && !FAILING.has(last.type))) return undefined;
      const isCall = others.length === 0 && state.functions.has(textOf(last.name) ?? "");
      const text = commandText(isCall ? this.#last ?? last : last);
      return await this.#perform(interpreter, state, { action, condition: "ERR", text, node: last });
    };
    try {
      const output = await run();
      const caught = output.exitCode !== 0 && !state.errexitSafe ? await perform() : undefined;
      return caught ? joinOutputs(output, caught) : output;
    } catch (error) {
      if (!isExit(error) || !(error instanceof Error) || error.name !== "ErrexitError") throw error;
      if (!this.#caught.has(error)) {
        this.#caught.add(error);
        state.lastExitCode = error.exitCode;
        const caught = await perform();
        error.stdout += caught?.stdout ?? "";
        error.stderr += caught?.stderr ?? "";
      }
      throw error;
    }
  }

  /** Command that ran last, in a function too. */
  #last: CommandNode | undefined;

  /** Errors of `set -e` whose command of `ERR` has run. */
  readonly #caught = new WeakSet<object>();

  /** Runs the command of a trap, which finds the exit code and the line of the script, and leaves both. */
  async #perform(
    interpreter: BuiltinInterpreter,
    state: ShellState,
    { action, condition = "", text, node }: {
      readonly action: string;
      readonly condition?: string;
      readonly text?: string;
      readonly node?: CommandNode;
    },
  ): Promise<CommandOutput> {
    const { lastExitCode } = state;
    const line = node && lineOf(node) || state.currentLine;
    if (text !== undefined) state.env.set("BASH_COMMAND", text);
    this.#active.add(condition);
    Object.defineProperty(state, "currentLine", {
      get: () => line,
      set() {},
      configurable: true,
      enumerable: true,
    });
    try {
      return await interpreter.executeCommand(evalNode(action));
    } finally {
      const value = line;
      Object.defineProperty(state, "currentLine", {
        value,
        writable: true,
        configurable: true,
        enumerable: true,
      });
      this.#active.delete(condition);
      state.lastExitCode = lastExitCode;
      state.env.set("?", String(lastExitCode));
    }
  }

  async #runToEnd(
    interpreter: BuiltinInterpreter,
    state: ShellState,
    run: () => Promise<CommandOutput>,
  ): Promise<CommandOutput> {
    const pid = state.bashPid;
    const running = this.#running.get(state) ?? new Set();
    this.#running.set(state, running);
    if (running.has(pid)) return await run(); // `eval`, `source` or a group of the running script
    running.add(pid);
    try {
      const output = await run();
      if (!state.traps?.get(pid)?.has("EXIT")) return output;
      return await this.#exit(interpreter, state, () => Promise.resolve(output));
    } catch (error) {
      return await this.#exit(interpreter, state, () => Promise.reject(error));
    } finally {
      running.delete(pid);
      if (pid !== state.virtualPid) state.traps?.delete(pid);
    }
  }

  /** Runs the command of `EXIT` behind the end of a script. */
  async #exit(
    interpreter: BuiltinInterpreter,
    state: ShellState,
    run: () => Promise<CommandOutput>,
  ): Promise<CommandOutput> {
    const end = await endOf(run);
    const commands = state.traps?.get(state.bashPid);
    const action = commands?.get("EXIT");
    commands?.delete("EXIT");
    if (!action) return end.finish();
    state.lastExitCode = end.output.exitCode;
    const last = await endOf(() => interpreter.executeCommand(evalNode(action)));
    return end.finish(last.output, last.wasThrown);
  }
}

/** Prints commands as `trap -p` does. */
function list(commands: ReadonlyMap<string, string>, names: readonly string[]): CommandOutput {
  const wanted = names.map((text) => conditionOf(text) ?? text);
  const listed = [...commands].filter(([name]) => wanted.length === 0 || wanted.includes(name))
    .toSorted(([left], [right]) => orderOf(left) - orderOf(right));
  const lines = listed.map(([name, action]) => `trap -- ${quote(action)} ${name}\n`);
  return { stdout: lines.join(""), stderr: "", exitCode: 0 };
}

/** Returns the full name of a signal or condition that a word names. */
function conditionOf(text: string): string | undefined {
  const name = text.toUpperCase();
  if (name in CONDITIONS) return name;
  if (name === "EXIT" || name === "SIGEXIT" || text === "0") return "EXIT";
  const signal = signalOf(text);
  return signal && `SIG${signal.name}`;
}

function orderOf(name: string): number {
  if (name === "EXIT") return 0;
  return signalOf(name)?.number ?? 100 + ["DEBUG", "ERR", "RETURN"].indexOf(name);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
