import { errorMessage } from "../errors.ts";
import type { HostTool } from "./exec.ts";
import { deeperThan, MAX_CALL, parseCall } from "./guest_frames.ts";

/** Deeper than any honest argument. */
const MAX_DEPTH = 64;

/** So that a result fits into a frame, whatever characters it is made of. */
const MAX_RESULT_CHARACTERS = 16 * 1024 * 1024;
const MAX_ERROR_CHARACTERS = 65_536;
/** The most that the calls without an answer hold together, unless there is but one. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** How many faults of a call's arguments are told. */
const MAX_FAULTS = 20;

/** The most that a call may hold where no tool is granted, so that every call is one to refuse. */
const MAX_REFUSED = { bytes: 64 * 1024, values: 4096 };

/** Calls beyond the budget are answered by an error, up to this many times the budget. */
const FLOOD_FACTOR = 4;

/** The host tools of one exec: who may be called, how often, and what is answered. */
export class ToolCalls {
  readonly #tools: ReadonlyMap<string, HostTool>;
  readonly #budget: number;
  readonly #controller = new AbortController();
  readonly #answer: (text: string) => void;
  readonly #seen = new Set<number>();
  /** The bytes of the calls that have no answer yet: what they hold is in the host's memory. */
  #waitingBytes = 0;

  constructor(
    tools: readonly HostTool[],
    options: { budget: number; answer: (text: string) => void },
  ) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#budget = options.budget;
    this.#answer = options.answer;
  }

  /**
   * Runs the call of a `call` frame and answers it; what fails in the tool is told to the guest.
   *
   * @throws {SyntaxError} when the frame is no call, repeats one, or is one of a flood.
   */
  receive(payload: Uint8Array): void {
    const max = this.#tools.size === 0 ? MAX_REFUSED : MAX_CALL;
    const { call, name, arguments: args } = parseCall(payload, max);
    if (this.#seen.has(call)) throw new SyntaxError(`call ${call} was made before`);
    if (this.#seen.size > FLOOD_FACTOR * this.#budget) throw new SyntaxError("calls go on beyond any budget");
    this.#seen.add(call);
    this.#run(name, args, payload.length).then(
      (value) => this.#reply(`{"call":${call},"value":${value}}`),
      (error) =>
        this.#reply(JSON.stringify({ call, error: errorMessage(error).slice(0, MAX_ERROR_CHARACTERS) })),
    );
  }

  /** Ends the exec's calls: what still runs is aborted and no longer answered. */
  end(): void {
    this.#controller.abort(new DOMException("The exec that made the call is over", "AbortError"));
  }

  /** The tool's result as JSON; refused while others wait that hold as much as one call may. */
  async #run(name: string, args: Record<string, unknown>, bytes: number): Promise<string> {
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      throw new Error(`the calls that wait for an answer hold more than ${MAX_WAITING_BYTES} bytes`);
    }
    this.#waitingBytes += bytes;
    try {
      return await this.#call(name, args);
    } finally {
      this.#waitingBytes -= bytes;
    }
  }

  async #call(name: string, args: Record<string, unknown>): Promise<string> {
    if (deeperThan(MAX_DEPTH, args)) throw new Error(`the arguments of '${name}' are nested too deep`);
    const tool = this.#tools.get(name);
    if (!tool) throw new Error(`no host tool '${name}' is granted to this block`);
    if (this.#seen.size > this.#budget) {
      throw new Error(`the budget of ${this.#budget} host tool calls in one block is used up`);
    }
    const parsed = tool.parameters.safeParse(args);
    if (!parsed.success) throw new Error(`wrong arguments for '${name}': ${explain(parsed.error.issues)}`);
    const value = await tool.run(parsed.data, { signal: this.#controller.signal });
    const text = JSON.stringify(value) ?? "null";
    if (text.length <= MAX_RESULT_CHARACTERS) return text;
    throw new Error(
      `the result of '${name}' must have at most ${MAX_RESULT_CHARACTERS} characters: it has ${text.length}`,
    );
  }

  #reply(text: string): void {
    if (!this.#controller.signal.aborted) this.#answer(text);
  }
}

function explain(issues: readonly { path: PropertyKey[]; message: string }[]): string {
  const told = issues.slice(0, MAX_FAULTS);
  const left = issues.length - told.length;
  const faults = told.map(({ path, message }) => path.length > 0 ? `${path.join(".")}: ${message}` : message);
  return [...faults, ...(left > 0 ? [`and ${left} more`] : [])].join("; ");
}
