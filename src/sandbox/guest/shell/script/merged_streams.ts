import type { CommandNode, RedirectionNode } from "../builtins/nodes.ts";
import { textOf } from "../builtins/nodes.ts";
import type { CommandOutput, ScriptInterpreter } from "../terminal.ts";
import { joinOutputs } from "./script_end.ts";

const INPUT_OPERATORS = new Set(["<", "<<", "<<-", "<<<", "<&", "<>"]);
const BOTH_OPERATORS = new Set(["&>", "&>>"]);

/** Output with the number of bytes of it that the engine has counted. */
interface CountedOutput extends CommandOutput {
  readonly internalOutputAccounting?: { readonly stdout: number; readonly stderr: number };
}

type Node = Parameters<ScriptInterpreter["executeCommand"]>[0];

/**
 * Knows whether stderr of the running command goes where its stdout goes, as with `2>&1`. The engine keeps the streams
 * apart until a redirection joins them, stdout first. A command that runs while the streams are merged writes both into
 * its stdout, so that their order is kept.
 */
export class MergedStreams {
  #isMerged = false;

  /** True if the running command shall write both streams into stdout. */
  get isMerged(): boolean {
    return this.#isMerged;
  }

  /** Follows the redirections of an interpreter's commands. A program begins with the streams of its caller. */
  attach(interpreter: ScriptInterpreter, { isProgram }: { readonly isProgram: boolean }): void {
    if (!isProgram) this.#isMerged = false;
    const { ctx } = interpreter;
    const piped = new WeakMap<object, boolean>();
    const pipeline = interpreter.executePipeline.bind(interpreter);
    interpreter.executePipeline = (node) => {
      const { commands, pipeStderr = [] } = node as typeof node & {
        readonly pipeStderr?: readonly boolean[];
      };
      commands.slice(0, -1).forEach((command, at) => piped.set(command, pipeStderr[at] === true));
      const isMerged = this.#isMerged && commands.length > 1;
      return pipeline(node).then((output) => isMerged ? toMerged(output, { stderrFirst: true }) : output);
    };
    const command = interpreter.executeCommand.bind(interpreter);
    interpreter.executeCommand = ctx.executeCommand = (node, ...rest) => {
      const given = piped.get(node) ?? this.#isMerged;
      const place = sharedPlace(node, given);
      const isMerged = place !== undefined;
      if (given === isMerged && !isMerged && !this.#isMerged) return command(node, ...rest);
      const outer = this.#isMerged;
      return this.#run(isMerged, () => command(node, ...rest)).then((output) => {
        if (isExecOfStreams(node)) this.#isMerged = isMerged && place !== "2";
        return given && outer ? toMerged(output, { stderrFirst: state.options?.xtrace ?? false }) : output;
      });
    };
    const script = ctx.executeScript;
    const state = ctx.state as {
      readonly bashPid?: number;
      readonly options?: { readonly xtrace?: boolean };
    };
    let pid = state.bashPid;
    ctx.executeScript = (...args) => {
      if (state.bashPid === pid) return script(...args); // `eval` or `source`
      const outer = pid;
      pid = state.bashPid;
      return this.#run(false, () => script(...args)).finally(() => pid = outer);
    };
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

/** Returns the place where both streams of a command go behind its redirections, or `undefined` if they differ. */
function sharedPlace({ type, redirections = [] }: Node, isMerged: boolean): string | undefined {
  if (redirections.length === 0) return isMerged ? "1" : undefined;
  if (type === "FunctionDef") return undefined;
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
  return places.get(1) === places.get(2) ? places.get(1) : undefined;
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
