import { clock, STOP_MESSAGE } from "./clock.ts";
import { shortLived } from "./script/short_lived.ts";

/** Output and exit code of a command, as the engine returns them. */
export interface CommandOutput {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  /** `bytes` if each character of `stdout` is one byte. */
  readonly stdoutKind?: "text" | "bytes";
  /** An older form of `stdoutKind`. */
  readonly stdoutEncoding?: "binary";
}

interface Redirection {
  readonly fd: number | null;
  readonly operator: string;
  readonly target: { readonly parts?: readonly { readonly value?: unknown }[] };
}

interface CommandNode {
  readonly type: string;
  readonly redirections?: readonly Redirection[];
  /** The body of a function definition. */
  readonly body?: object;
}

type Step = (...args: never[]) => Promise<CommandOutput>;

/** The engine's interpreter of a script. Each of its methods may be replaced. */
export interface ScriptInterpreter {
  executePipeline(pipeline: { readonly commands: readonly CommandNode[] }): Promise<CommandOutput>;
  executeCommand(node: CommandNode, ...rest: unknown[]): Promise<CommandOutput>;
  readonly ctx: {
    executeScript: Step;
    executeCommand: ScriptInterpreter["executeCommand"];
    /** Redirections by `exec > file`, which hold for all later commands. */
    readonly state: { readonly fileDescriptors?: ReadonlyMap<number, unknown> | undefined };
  };
}

/** Destination of stderr, for output that goes to the terminal. */
export interface Route {
  readonly stderr: "stdout" | "stderr";
}

/** Output of a command before its last conversion. */
export type PrintedText = Omit<CommandOutput, "exitCode">;

/** Functions that a {@linkcode ShellTerminal} prints with. */
export interface TerminalParts {
  readonly print: (stream: "stdout" | "stderr", text: string) => void;
  /** The engine's last conversion, which decodes bytes to text. */
  readonly toText: (printed: PrintedText) => Pick<PrintedText, "stdout" | "stderr">;
}

/** Longest time, in milliseconds, that output is buffered. */
const BUFFER_MS = 20;
const SEPARATE_STREAMS: Route = { stderr: "stderr" };
/** A descriptor that `exec 2>&1` has made. */
const STDOUT_COPY = "__dupout__:1";
const INPUT_OPERATORS = new Set(["<", "<<", "<<-", "<<<"]);

/**
 * Prints the output of a command line while it runs. The engine would return all output at the end, as each command
 * returns its output to the enclosing command. This class instead prints the output of each command when the command
 * ends, unless a pipe, redirection or substitution takes it.
 */
export class ShellTerminal {
  readonly #parts: TerminalParts;
  readonly #redirected = new WeakSet<object>();
  #buffer: { readonly stream: Route["stderr"]; text: string }[] = [];
  #timer: number | undefined;
  #route: Route | undefined;
  /** Where stderr goes, if no command takes the stderr. Stdout may have another reader. */
  #errorRoute: Route | undefined;
  #interpreter: ScriptInterpreter | undefined;

  constructor(parts: TerminalParts) {
    this.#parts = parts;
  }

  /** Route for a program that starts now. Undefined if another command or a file takes its output. */
  get route(): Route | undefined {
    const redirected = this.#interpreter?.ctx.state.fileDescriptors;
    return redirected?.has(1) || redirected?.has(2) ? undefined : this.#route;
  }

  /** Returns what prints text of another process behind the text so far, or `undefined` if something takes it. */
  get printer(): ((stream: "stdout" | "stderr", text: string) => void) | undefined {
    const { route } = this;
    return route && ((stream, text) => {
      this.#bufferText(stream === "stdout" ? "stdout" : route.stderr, text);
      this.#timer ??= clock.startTimer(() => this.flush(), BUFFER_MS);
    });
  }

  /** Prints output of `interpreter` to the terminal, unless something takes it. */
  attach(interpreter: ScriptInterpreter): ScriptInterpreter {
    this.#route = this.#errorRoute = SEPARATE_STREAMS;
    this.#interpreter = interpreter;
    const { ctx } = interpreter;
    const pipeline = interpreter.executePipeline.bind(interpreter);
    const command = interpreter.executeCommand.bind(interpreter);
    const script = ctx.executeScript;
    interpreter.executePipeline = shortLived(async (node) => {
      node.commands.slice(0, -1).forEach((part) => this.#redirected.add(part));
      return await pipeline(node);
    });
    interpreter.executeCommand = ctx.executeCommand = shortLived(async (node, ...rest) => {
      const outer = this.#route;
      const route = this.#routeOf(node);
      const errorRoute = leavesErrors(node) ? this.#errorRoute : node.type === "SimpleCommand"
        ? undefined // its trace is written before its redirections
        : route;
      const printed = await this.#withRoutes(route, errorRoute, () => command(node, ...rest));
      return outer && !this.#redirected.has(node) ? this.#printOutput(printed, outer) : printed;
    });
    ctx.executeScript = shortLived((...args) =>
      this.#withRoutes(undefined, this.#errorRoute, () => script(...args))
    );
    return interpreter;
  }

  /** Prints output of a command that something else encloses. */
  show(output: CommandOutput): void {
    this.#printOutput(output, SEPARATE_STREAMS);
  }

  /** Prints to stderr at once. Returns `false` if a command or a file takes stderr. */
  printError(text: string): boolean {
    if (!this.#errorRoute) return false;
    const descriptors = this.#interpreter?.ctx.state.fileDescriptors;
    const target = descriptors?.get(2);
    if (target !== undefined && (target !== STDOUT_COPY || descriptors?.has(1))) return false;
    this.#bufferText(target === undefined ? this.#errorRoute.stderr : "stdout", text);
    this.#timer ??= clock.startTimer(() => this.flush(), BUFFER_MS);
    return true;
  }

  /** Runs `work`, whose output is taken by its caller. */
  async runCaptured<T>(work: () => Promise<T>): Promise<T> {
    return await this.#withRoutes(undefined, undefined, work);
  }

  /** Prints the buffered output, in the order in which it was written. */
  flush(): void {
    if (this.#timer !== undefined) clock.stopTimer(this.#timer);
    this.#timer = undefined;
    for (const { stream, text } of this.#buffer.splice(0)) this.#parts.print(stream, text);
  }

  async #withRoutes<T>(
    route: Route | undefined,
    errorRoute: Route | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    const [outer, outerErrors] = [this.#route, this.#errorRoute];
    this.#route = route;
    this.#errorRoute = errorRoute;
    try {
      return await work();
    } finally {
      this.#route = outer;
      this.#errorRoute = outerErrors;
    }
  }

  #routeOf(node: CommandNode): Route | undefined {
    if (this.#redirected.has(node)) return undefined;
    const outputs = (node.redirections ?? []).filter(({ operator }) => !INPUT_OPERATORS.has(operator));
    if (outputs.length === 0) return this.#route;
    const isRouted = node.type !== "FunctionDef" && outputs.every(isStderrToStdout);
    if (node.type === "FunctionDef" && node.body) this.#redirected.add(node.body);
    return isRouted && this.#route ? { stderr: "stdout" } : undefined;
  }

  /** Prints the output of a result. Returns the result without it. */
  #printOutput<Result extends CommandOutput>(printed: Result, route: Route): Result {
    if (!printed.stdout && !printed.stderr) return printed;
    const { stdout, stderr } = this.#parts.toText({ ...printed });
    this.#bufferText("stdout", stdout);
    this.#bufferText(route.stderr, clock.interrupted ? stderr.replace(STOP_MESSAGE, "") : stderr);
    this.#timer ??= clock.startTimer(() => this.flush(), BUFFER_MS);
    return { ...printed, stdout: "", stderr: "", internalOutputAccounting: { stdout: 0, stderr: 0 } };
  }

  #bufferText(stream: Route["stderr"], text: string): void {
    const last = this.#buffer.at(-1);
    if (last?.stream === stream) last.text += text;
    else if (text !== "") this.#buffer.push({ stream, text });
  }
}

/** True if a command's redirections do not take its stderr. */
function leavesErrors({ redirections = [] }: CommandNode): boolean {
  return redirections.every(({ fd, operator }) => {
    return INPUT_OPERATORS.has(operator) || (fd ?? 1) === 1 && (operator === ">" || operator === ">>");
  });
}

/** True if a redirection is `2>&1`. */
function isStderrToStdout({ fd, operator, target }: Redirection): boolean {
  const [word, ...more] = target.parts ?? [];
  return operator === ">&" && fd === 2 && more.length === 0 && word?.value === "1";
}
