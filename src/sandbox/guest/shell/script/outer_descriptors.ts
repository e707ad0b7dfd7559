import { type CommandNode, type RedirectionNode, textOf } from "../builtins/nodes.ts";
import type { CommandOutput, ScriptInterpreter } from "../terminal.ts";
import { shortLived } from "./short_lived.ts";

type Node = Parameters<ScriptInterpreter["executeCommand"]>[0];

/** The parts of {@linkcode OuterDescriptors}. */
export interface OuterDescriptorsParts {
  /** Prints output where the output of the script goes. */
  readonly print: (output: CommandOutput) => void;
}

/** Where a command's streams go: to the command's own `1` or `2`, or to a descriptor that was opened outside. */
interface Routes {
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Descriptors such as 3 of `exec 3>&1`, which name the output of the script from inside a pipe, a redirection or
 * a substitution. The engine would write to the output of that pipe.
 */
export class OuterDescriptors {
  readonly #parts: OuterDescriptorsParts;
  /** Depth of pipes, redirections and substitutions in which the script is. */
  #depth = 0;
  /** Depth at which each descriptor was opened as a copy of stdout. */
  #opened = new Map<number, number>();

  constructor(parts: OuterDescriptorsParts) {
    this.#parts = parts;
  }

  /** Runs a command whose output something takes. */
  async enter<T>(work: () => Promise<T>): Promise<T> {
    this.#depth++;
    try {
      return await work();
    } finally {
      this.#depth--;
    }
  }

  /** Follows the descriptors of an interpreter's commands. */
  attach(interpreter: ScriptInterpreter): void {
    const command = interpreter.executeCommand.bind(interpreter);
    interpreter.executeCommand = interpreter.ctx.executeCommand = shortLived((node, ...rest) => {
      const redirections = (node.redirections ?? []) as readonly RedirectionNode[];
      if (!redirections.some(isCopy)) return command(node, ...rest);
      const routes = this.#routesOf(redirections);
      if (routes === "mixed") return Promise.resolve(refused());
      if (routes) {
        const others = redirections.filter((redirection) => !isCopy(redirection));
        return command({ ...node, redirections: others } as Node, ...rest).then((output) =>
          this.#send(output, routes)
        );
      }
      return this.#open(node, redirections, () => command(node, ...rest));
    });
  }

  async #open(
    node: Node,
    redirections: readonly RedirectionNode[],
    work: () => Promise<CommandOutput>,
  ): Promise<CommandOutput> {
    const outer = this.#opened;
    const opened = new Map(outer);
    for (const { fd, target } of redirections.filter(isCopy)) {
      if (fd === null || fd < 3) continue;
      if (numberOf(target) === "1") opened.set(fd, this.#depth);
      else opened.delete(fd);
    }
    this.#opened = opened;
    const { name, args = [] } = node as CommandNode;
    const isLasting = textOf(name) === "exec" && args.length === 0;
    try {
      return await work();
    } finally {
      if (!isLasting) this.#opened = outer;
    }
  }

  /** Returns where the streams go if a stream goes to an outer descriptor. */
  #routesOf(redirections: readonly RedirectionNode[]): Routes | "mixed" | undefined {
    const places = new Map([["1", "1"], ["2", "2"]]);
    let isOuter = false;
    for (const { fd, target } of redirections.filter(isCopy)) {
      const number = numberOf(target) ?? "";
      const depth = this.#opened.get(Number(number));
      if (depth !== undefined && depth < this.#depth) isOuter = true;
      places.set(String(fd ?? 1), places.get(number) ?? (depth === undefined ? "" : number));
    }
    if (!isOuter) return undefined;
    const [stdout = "", stderr = ""] = [places.get("1"), places.get("2")];
    const depths = [...places.values()].map((place) => this.#opened.get(Number(place)) ?? 0);
    const isMixed = redirections.some(({ operator, fd }) =>
      operator.includes(">") && (fd ?? 1) < 3 && operator !== ">&"
    );
    return isMixed || stdout === "" || stderr === "" || depths.some((depth) => depth > 0)
      ? "mixed"
      : { stdout, stderr };
  }

  #send(output: CommandOutput, { stdout, stderr }: Routes): CommandOutput {
    const none = { ...output, stdout: "", stderr: "" };
    const outer = {
      ...none,
      stdout: stdout === "1" || stdout === "2" ? "" : output.stdout,
      stderr: stderr === "1" || stderr === "2" ? "" : output.stderr,
    };
    if (outer.stdout !== "") this.#parts.print({ ...outer, stderr: "" });
    if (outer.stderr !== "") this.#parts.print({ stdout: outer.stderr, stderr: "", exitCode: 0 });
    const kept = { stdout: stdout === "1" ? output.stdout : "", stderr: stderr === "2" ? output.stderr : "" };
    if (stderr === "1") {
      return { stdout: kept.stdout + output.stderr, stderr: kept.stderr, exitCode: output.exitCode };
    }
    return { ...none, ...kept, stderr: kept.stderr + (stdout === "2" ? output.stdout : "") };
  }
}

/** True for a redirection such as `>&3` or `3>&1`. */
function isCopy({ operator, target }: RedirectionNode): boolean {
  return operator === ">&" && numberOf(target) !== undefined;
}

function numberOf(target: RedirectionNode["target"]): string | undefined {
  return "delimiter" in target ? undefined : /^\d+$/.exec(textOf(target) ?? "")?.[0];
}

function refused(): CommandOutput {
  const message = "a descriptor of an enclosing command cannot be written here in the sandbox";
  return { stdout: "", stderr: `bash: ${message}\n`, exitCode: 1 };
}
