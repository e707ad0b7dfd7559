import type { BuiltinInterpreter } from "../builtins/builtin.ts";
import { type CommandNode, type StatementNode, statementOf, textOf } from "../builtins/nodes.ts";
import type { ShellFiles } from "../files.ts";
import { shortLived } from "../script/short_lived.ts";
import type { CommandOutput } from "../terminal.ts";
import { type CoprocInput, CoprocPipes, type DescriptorState } from "./coproc.ts";

/** A command behind `coproc`. */
interface CoprocNode {
  readonly type: string;
  readonly coproc: CommandNode;
  readonly coprocName?: string;
  readonly source?: string;
}

/** The parts of a shell's state that have what a script knows of a coprocess. */
export interface CoprocState extends DescriptorState {
  arrays?: Map<string, unknown>;
  readonly env: Map<string, string>;
}

/** The parts of {@linkcode ShellCoprocs}. */
export interface ShellCoprocsParts {
  readonly files: ShellFiles;
  /** Returns the number of the next process. */
  readonly nextPid: () => number;
  readonly isRunning: (pid: number) => boolean;
  /** Starts a job, whose streams are the pipes. */
  readonly start: (
    statement: StatementNode,
    state: CoprocState,
    pipes: CoprocPipes,
  ) => Promise<CommandOutput>;
}

interface Coproc {
  readonly name: string;
  readonly pipes: CoprocPipes;
}

const INPUT_OPERATORS = new Set(["<", "<<", "<<-", "<<<", "<&", "<>"]);

/** Jobs of `coproc`, which have pipes to and from their shell. */
export class ShellCoprocs {
  readonly #parts: ShellCoprocsParts;
  /** Coprocesses by the number of their process. */
  readonly #coprocs = new Map<number, Coproc>();

  constructor(parts: ShellCoprocsParts) {
    this.#parts = parts;
  }

  /** Runs `coproc`, and lets commands wait for what coprocesses print. */
  attach(interpreter: BuiltinInterpreter, state: CoprocState): void {
    const command = interpreter.executeCommand.bind(interpreter);
    let reader: CommandNode | undefined;
    interpreter.executeCommand = interpreter.ctx.executeCommand = shortLived((given, ...rest) => {
      const node = given as CommandNode & CoprocNode;
      if (node.type === "Coproc") return this.#start(node, state);
      if (this.#coprocs.size === 0) return command(given, ...rest);
      reader = node;
      return command(given, ...rest).finally(() => this.#closeUnused(state));
    });
    const { ctx } = interpreter;
    const { input } = this.#parts.files; // of a coprocess
    if (input) attachInput(interpreter, input);
    ctx.ownInput = input;
    ctx.awaitOutput = shortLived(async (descriptor, { timeMs } = {}) => {
      const pipes = this.#readBy(descriptor, state);
      if (!pipes) return undefined;
      return await pipes.deliver(state, { line: true, ...(timeMs !== undefined && { timeMs }) });
    });
    ctx.beforeInput = shortLived(async (descriptor, isLasting) => {
      const pipes = this.#readBy(descriptor, state);
      if (!pipes || isLasting) return;
      const readsLines = textOf(reader?.name) === "read" || /^(?:While|Until)$/.test(reader?.type ?? "");
      if (!readsLines) await pipes.deliver(state, { line: false });
    });
  }

  /** Waits until a coprocess waits for input or has ended. Returns `undefined` if the process is none. */
  blocked(pid: number): Promise<void> | undefined {
    return this.#coprocs.get(pid)?.pipes.blocked();
  }

  /** Closes the inputs of all coprocesses. */
  closeAll(): void {
    for (const { pipes } of this.#coprocs.values()) pipes.input.close();
  }

  /** Forgets all coprocesses. */
  forgetAll(): void {
    for (const { pipes } of this.#coprocs.values()) this.#parts.files.pipes.delete(pipes.path);
    this.#coprocs.clear();
  }

  /** Forgets the variables and descriptors of coprocesses that have ended. */
  forgetEnded(state: CoprocState): void {
    for (const [pid, { name, pipes }] of [...this.#coprocs]) {
      if (this.#parts.isRunning(pid)) continue;
      state.fileDescriptors?.delete(pipes.readDescriptor);
      state.fileDescriptors?.delete(pipes.writeDescriptor);
      state.arrays?.delete(name);
      state.env.delete(`${name}_PID`);
      this.#parts.files.pipes.delete(pipes.path);
      this.#coprocs.delete(pid);
    }
  }

  #readBy(descriptor: number, state: DescriptorState): CoprocPipes | undefined {
    return this.#coprocs.values().find(({ pipes }) => pipes.isRead(descriptor, state))?.pipes;
  }

  #closeUnused(state: DescriptorState): void {
    for (const { pipes } of this.#coprocs.values()) pipes.closeUnused(state);
  }

  async #start(node: CoprocNode, state: CoprocState): Promise<CommandOutput> {
    const { files, nextPid, isRunning, start } = this.#parts;
    const name = node.coprocName ?? "COPROC";
    const running = [...this.#coprocs].find(([pid]) => isRunning(pid));
    const pid = nextPid();
    const pipes = new CoprocPipes(pid, state);
    files.pipes.set(pipes.path, (bytes) => pipes.input.write(bytes));
    this.#coprocs.set(pid, { name, pipes });
    const elements = new Map([["0", String(pipes.readDescriptor)], ["1", String(pipes.writeDescriptor)]]);
    state.arrays = new Map([...state.arrays ?? [], [name, { kind: "indexed", elements, isAssigned: true }]]);
    state.env.set(`${name}_PID`, String(pid));
    const statement = { ...statementOf(node.coproc), sourceText: `coproc ${node.source ?? name}` };
    const output = await start(statement, state, pipes);
    if (!running) return output;
    const warning = `execute_coproc: coproc [${running[0]}:${running[1].name}] still exists`;
    return { ...output, stderr: `bash: warning: ${warning}\n${output.stderr}` };
  }
}

/** Follows which commands of a coprocess have its stdin: pipes and redirections give others. */
function attachInput(interpreter: BuiltinInterpreter, input: CoprocInput): void {
  const piped = new WeakSet<object>();
  const pipeline = interpreter.executePipeline.bind(interpreter);
  interpreter.executePipeline = shortLived((node) => {
    for (const part of node.commands.slice(1)) piped.add(part);
    return pipeline(node);
  });
  const command = interpreter.executeCommand.bind(interpreter);
  interpreter.executeCommand = interpreter.ctx.executeCommand = shortLived((node, ...rest) => {
    const isOther = piped.has(node) ||
      (node.redirections ?? []).some(({ operator, fd }) => INPUT_OPERATORS.has(operator) && (fd ?? 0) === 0);
    const outer = input.isCurrent;
    input.isCurrent &&= !isOther;
    return command(node, ...rest).finally(() => input.isCurrent = outer);
  });
}
