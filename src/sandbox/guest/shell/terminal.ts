import { clock, STOP_MESSAGE } from "./clock.ts";

/** What a command printed, as the engine hands it upwards. */
interface Printed {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

interface Redirection {
  readonly fd: number | null;
  readonly operator: string;
  readonly target: { readonly parts?: readonly { readonly value?: unknown }[] };
}

interface CommandNode {
  readonly type: string;
  readonly redirections?: readonly Redirection[];
  /** What a function does. */
  readonly body?: object;
}

type Step = (...args: never[]) => Promise<Printed>;

/** What runs one script in the engine: each of its steps may be replaced. */
export interface Interpreter {
  executePipeline(pipeline: { readonly commands: readonly CommandNode[] }): Promise<Printed>;
  executeCommand(node: CommandNode, ...rest: unknown[]): Promise<Printed>;
  readonly ctx: {
    executeScript: Step;
    executeCommand: Interpreter["executeCommand"];
    /** What `exec > file` has changed for all commands after it. */
    readonly state: { readonly fileDescriptors?: ReadonlyMap<number, unknown> | undefined };
  };
}

/** Where the output of what runs now goes, when that is the terminal. */
export interface Route {
  readonly stderr: "stdout" | "stderr";
}

/** What a {@linkcode ShellTerminal} prints with. */
export interface TerminalParts {
  readonly print: (stream: "stdout" | "stderr", text: string) => void;
  /** The engine's own last touch: bytes become the text that they are. */
  readonly toText: (printed: { stdout: string; stderr: string }) => { stdout: string; stderr: string };
}

/** How long output may wait for more of it. */
const GATHER_MS = 20;
const APART: Route = { stderr: "stderr" };
const INPUTS = new Set(["<", "<<", "<<-", "<<<"]);

/**
 * Prints what a command line writes while it runs. The engine gathers all output until the end, as text that goes
 * from each command to the one around it; here, what no pipe, redirection or substitution will take is passed on
 * when the command that wrote it has ended.
 */
export class ShellTerminal {
  readonly #parts: TerminalParts;
  readonly #taken = new WeakSet<object>();
  #waiting: { readonly stream: Route["stderr"]; text: string }[] = [];
  #timer: number | undefined;
  #route: Route | undefined;
  #interpreter: Interpreter | undefined;

  constructor(parts: TerminalParts) {
    this.#parts = parts;
  }

  /** Where a program that starts now may print to; nowhere, when its output is for another command. */
  get route(): Route | undefined {
    const redirected = this.#interpreter?.ctx.state.fileDescriptors;
    return redirected?.has(1) || redirected?.has(2) ? undefined : this.#route;
  }

  /** Follows a command line: what `interpreter` prints is for the terminal unless something takes it. */
  attach(interpreter: Interpreter): Interpreter {
    this.#route = APART;
    this.#interpreter = interpreter;
    const { ctx } = interpreter;
    const pipeline = interpreter.executePipeline.bind(interpreter);
    const command = interpreter.executeCommand.bind(interpreter);
    const script = ctx.executeScript;
    interpreter.executePipeline = async (node) => {
      node.commands.slice(0, -1).forEach((part) => this.#taken.add(part));
      return await pipeline(node);
    };
    interpreter.executeCommand = ctx.executeCommand = async (node, ...rest) => {
      const outer = this.#route;
      const printed = await this.#within(this.#routeOf(node), () => command(node, ...rest));
      return outer && !this.#taken.has(node) ? this.#pass(printed, outer) : printed;
    };
    ctx.executeScript = (...args) => this.runCaptured(() => script(...args));
    return interpreter;
  }

  /** Runs what somebody waits for the output of. */
  async runCaptured<T>(work: () => Promise<T>): Promise<T> {
    return await this.#within(undefined, work);
  }

  /** Prints what waits for more, in the order in which it was written. */
  flush(): void {
    if (this.#timer !== undefined) clock.stop(this.#timer);
    this.#timer = undefined;
    for (const { stream, text } of this.#waiting.splice(0)) this.#parts.print(stream, text);
  }

  async #within<T>(route: Route | undefined, work: () => Promise<T>): Promise<T> {
    const outer = this.#route;
    this.#route = route;
    try {
      return await work();
    } finally {
      this.#route = outer;
    }
  }

  #routeOf(node: CommandNode): Route | undefined {
    if (this.#taken.has(node)) return undefined;
    const outputs = (node.redirections ?? []).filter(({ operator }) => !INPUTS.has(operator));
    if (outputs.length === 0) return this.#route;
    const kept = node.type !== "FunctionDef" && outputs.every(isErrorsToOutput);
    if (node.type === "FunctionDef" && node.body) this.#taken.add(node.body);
    return kept && this.#route ? { stderr: "stdout" } : undefined;
  }

  /** Takes what was printed out of a result, for the terminal. */
  #pass<Result extends Printed>(printed: Result, route: Route): Result {
    if (!printed.stdout && !printed.stderr) return printed;
    const { stdout, stderr } = this.#parts.toText({ stdout: printed.stdout, stderr: printed.stderr });
    this.#add("stdout", stdout);
    this.#add(route.stderr, clock.interrupted ? stderr.replace(STOP_MESSAGE, "") : stderr);
    this.#timer ??= clock.start(() => this.flush(), GATHER_MS);
    return { ...printed, stdout: "", stderr: "", internalOutputAccounting: { stdout: 0, stderr: 0 } };
  }

  #add(stream: Route["stderr"], text: string): void {
    const last = this.#waiting.at(-1);
    if (last?.stream === stream) last.text += text;
    else if (text !== "") this.#waiting.push({ stream, text });
  }
}

/** Whether a redirection is `2>&1`. */
function isErrorsToOutput({ fd, operator, target }: Redirection): boolean {
  const [word, ...more] = target.parts ?? [];
  return operator === ">&" && fd === 2 && more.length === 0 && word?.value === "1";
}
