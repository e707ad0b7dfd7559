import type { CommandNode, RedirectionNode } from "../builtins/nodes.ts";
import { statementOf, textOf } from "../builtins/nodes.ts";
import type { CommandOutput, ScriptInterpreter } from "../terminal.ts";
import { joinOutputs } from "./script_end.ts";
import { shortLived } from "./short_lived.ts";

const INPUT_OPERATORS = new Set(["<", "<<", "<<-", "<<<", "<&", "<>"]);
const BOTH_OPERATORS = new Set(["&>", "&>>"]);

/** Output with the number of bytes of it that the engine has counted. */
interface CountedOutput extends CommandOutput {
  readonly internalOutputAccounting?: { readonly stdout: number; readonly stderr: number };
}

type Node = Parameters<ScriptInterpreter["executeCommand"]>[0];

/** The parts of {@linkcode MergedStreams}. */
export interface MergedStreamsParts {
  /** Whether the streams are merged at the start. */
  readonly isMerged: boolean;
  /** Runs a command whose output a pipe, a redirection or a substitution takes. */
  readonly runCaptured: (work: () => Promise<CommandOutput>) => Promise<CommandOutput>;
}

/**
 * Knows whether stderr of the running command goes where its stdout goes, as with `2>&1`. The engine keeps the streams
 * apart until a redirection joins them, stdout first. A command that runs while the streams are merged writes both into
 * its stdout, so that their order is kept.
 */
export class MergedStreams {
  readonly #isMergedAtStart: boolean;
  readonly #runCaptured: MergedStreamsParts["runCaptured"];
  #isMerged: boolean;

  constructor({ isMerged, runCaptured }: MergedStreamsParts) {
    this.#isMergedAtStart = this.#isMerged = isMerged;
    this.#runCaptured = runCaptured;
  }

  /** True if the running command shall write both streams into stdout. */
  get isMerged(): boolean {
    return this.#isMerged;
  }

  /** Follows the redirections of an interpreter's commands. A program begins with the streams of its caller. */
  attach(interpreter: ScriptInterpreter, { isProgram }: { readonly isProgram: boolean }): void {
    if (!isProgram) this.#isMerged = this.#isMergedAtStart;
    const { ctx } = interpreter;
    const piped = new WeakMap<object, boolean>();
    const pipeline = interpreter.executePipeline.bind(interpreter);
    interpreter.executePipeline = shortLived((node) => {
      const { commands, pipeStderr = [] } = node as typeof node & {
        readonly pipeStderr?: readonly boolean[];
      };
      commands.slice(0, -1).forEach((command, at) => piped.set(command, pipeStderr[at] === true));
      if (commands.length === 1) return pipeline(node);
      const isMerged = this.#isMerged;
      return pipeline(node).then((output) => isMerged ? toMerged(output, { stderrFirst: true }) : output);
    });
    const command = interpreter.executeCommand.bind(interpreter);
    interpreter.executeCommand = ctx.executeCommand = shortLived((node, ...rest) => {
      const isPiped = piped.has(node);
      const given = piped.get(node) ?? this.#isMerged;
      const places = placesOf(node, given);
      const isMerged = places.stdout === places.stderr;
      if (!isPiped && !given && !isMerged && places.isShells) return command(node, ...rest);
      const outer = this.#isMerged;
      const inner = !places.isShells && startsJobs(node) ? { ...node, redirections: [] } : undefined;
      if (inner) piped.set(inner, isMerged);
      const run = () => this.#run(isMerged, () => command(inner ? groupOf(inner, node) : node, ...rest));
      const isTaken = isPiped || (!places.isShells && !inner);
      return (isTaken ? this.#runCaptured(run) : run()).then((output) => {
        if (isExecOfStreams(node)) this.#isMerged = isMerged && places.stdout !== "2";
        return given && outer ? toMerged(output, { stderrFirst: state.options?.xtrace ?? false }) : output;
      });
    });
    const script = ctx.executeScript;
    const state = ctx.state as {
      readonly bashPid?: number;
      readonly options?: { readonly xtrace?: boolean };
    };
    let pid = state.bashPid;
    ctx.executeScript = shortLived((...args) => {
      if (state.bashPid === pid) return script(...args); // `eval` or `source`
      const outer = pid;
      pid = state.bashPid;
      return this.#runCaptured(() => this.#run(false, () => script(...args))).finally(() => pid = outer);
    });
  }

  /** Runs a program, whose `exec 2>&1` does not hold for its caller. */
  async runProgram<T>(work: () => Promise<T>): Promise<T> {
    return await this.#run(this.#isMerged, work);
  }

  async #run<T>(isMerged: boolean, work: () => Promise<T>): Promise<T> {
    const outer = this.#isMerged;
    this.#isMerged = isMerged;
    try {
      return await work();
    } finally {
      this.#isMerged = outer;
    }
  }
}

/** Where the streams of a command go. */
interface Places {
  readonly stdout: string | undefined;
  readonly stderr: string | undefined;
  /** True if both go where the streams of the shell go. */
  readonly isShells: boolean;
}

const SEPARATE: Places = { stdout: "1", stderr: "2", isShells: true };
const SHARED: Places = { stdout: "1", stderr: "1", isShells: true };

/** Returns where the streams of a command go behind its redirections. */
function placesOf({ type, redirections = [] }: Node, isMerged: boolean): Places {
  if (redirections.length === 0) return isMerged ? SHARED : SEPARATE;
  if (type === "FunctionDef") return SEPARATE;
  const places = new Map<number, string>([[1, "1"], [2, isMerged ? "1" : "2"]]);
  (redirections as readonly RedirectionNode[]).forEach(({ operator, fd, target }, at) => {
    if (INPUT_OPERATORS.has(operator)) return;
    const word = "delimiter" in target ? "" : textOf(target) ?? "";
    const number = /^(\d+)-?$/.exec(word)?.[1];
    const isBoth = BOTH_OPERATORS.has(operator) || (operator === ">&" && fd === null && number === undefined);
    const place = operator === ">&" && number !== undefined
      ? places.get(Number(number)) ?? `descriptor ${number}`
      : `file ${at}`;
    for (const stream of isBoth ? [1, 2] : [fd ?? 1]) places.set(stream, place);
  });
  const [stdout, stderr] = [places.get(1), places.get(2)];
  return { stdout, stderr, isShells: stdout === "1" && (stderr === "1" || stderr === "2") };
}

/** Nodes that are known to start jobs, or not to. */
const startingJobs = new WeakMap<object, boolean>();

/** True if a command that has others in it, such as a loop, starts jobs. */
function startsJobs(node: object): boolean {
  const known = startingJobs.get(node);
  if (known !== undefined) return known;
  const { type, background } = node as { readonly type?: string; readonly background?: boolean };
  const starts = background === true || (type !== "Word" && type !== "SimpleCommand" &&
    Object.values(node).some((part) => typeof part === "object" && part !== null && startsJobs(part)));
  startingJobs.set(node, starts);
  return starts;
}

/** Returns a group that has a command without its redirections, and the redirections. */
function groupOf(inner: Node, { redirections = [] }: Node): Node {
  return { type: "Group", body: [statementOf(inner as CommandNode)], redirections } as Node;
}

/** True for `exec` without a command, whose redirections hold for all later commands. */
function isExecOfStreams(node: Node): boolean {
  const { type, name, args = [], redirections = [] } = node as CommandNode;
  return type === "SimpleCommand" && redirections.length > 0 && args.length === 0 && textOf(name) === "exec";
}

/** Returns output whose stderr is a part of its stdout. */
function toMerged(
  output: CountedOutput,
  { stderrFirst }: { readonly stderrFirst: boolean },
): CountedOutput {
  if (output.stderr === "") return output;
  const { stderr, exitCode } = output;
  const printed = { ...output, stderr: "" };
  const complaint = { stdout: stderr, stderr: "", exitCode };
  const joined = stderrFirst ? joinOutputs(complaint, printed) : joinOutputs(printed, complaint);
  const { stdout = 0, stderr: behind = 0 } = output.internalOutputAccounting ?? {};
  return { ...output, ...joined, internalOutputAccounting: { stdout: stdout + behind, stderr: 0 } };
}
