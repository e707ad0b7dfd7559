import { errorMessage } from "../errors.ts";
import type { HostTool } from "./host_tool.ts";
import { describeIssue } from "../schema_words.ts";
import { exactArgumentsText, isDeeperThan, MAX_CALL, parseCall, withExactIntegers } from "./guest_frames.ts";
import { type EncodedToolValue, encodeToolValue } from "./tool_value.ts";

/** Maximum nesting of arguments; no real tool needs more. */
const MAX_DEPTH = 64;

const MAX_ERROR_CHARACTERS = 65_536;
/** Maximum size of all pending calls together. A single call may be larger. */
const MAX_PENDING_BYTES = 4 * 1024 * 1024;
/** Maximum number of issues of a call's arguments in one error message. */
const MAX_ISSUES = 20;

/** Maximum size of a call if no tool is granted, so that every call is refused. */
const MAX_CALL_WITHOUT_TOOLS = { bytes: 64 * 1024, values: 4096 };

/**
 * Calls beyond the budget get an error, up to this many times the budget; further ones are a protocol violation.
 */
const FLOOD_FACTOR = 4;

/** The host tools of one exec. Checks, counts and runs the calls of the guest, and sends their results. */
export class ToolCalls {
  readonly #tools: ReadonlyMap<string, HostTool>;
  readonly #budget: number;
  readonly #controller = new AbortController();
  readonly #onReply: (text: string) => Promise<void> | void;
  readonly #ended = Promise.withResolvers<void>();
  readonly #seen = new Set<number>();
  /** Size of the pending calls, which the host holds in memory. */
  #pendingBytes = 0;

  constructor(
    tools: readonly HostTool[],
    options: { budget: number; onReply: (text: string) => Promise<void> | void },
  ) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#budget = options.budget;
    this.#onReply = options.onReply;
  }

  /**
   * Runs the call in the payload of a `call` frame and sends the result, or the error of the tool, to the guest.
   *
   * @throws {SyntaxError} if the payload is not a call, repeats a call, or exceeds the budget by far.
   */
  receive(payload: Uint8Array): void {
    const max = this.#tools.size === 0 ? MAX_CALL_WITHOUT_TOOLS : MAX_CALL;
    const { call, name, ...parsed } = parseCall(payload, max);
    const isExact = this.#tools.get(name)?.exactIntegers === true;
    const args = isExact ? withExactIntegers(parsed.arguments, payload) : parsed.arguments;
    if (this.#seen.has(call)) throw new SyntaxError(`call ${call} was made before`);
    if (this.#seen.size > FLOOD_FACTOR * this.#budget) throw new SyntaxError("calls go on beyond any budget");
    this.#seen.add(call);
    const argumentsText = isExact ? exactArgumentsText(payload) : undefined;
    const { promise: delivered, resolve } = Promise.withResolvers<void>();
    this.#run({ name, args, argumentsText, bytes: payload.length, delivered }).then(
      ({ json, media }) =>
        this.#reply(
          media.length === 0
            ? `{"call":${call},"value":${json}}`
            : `{"call":${call},"value":${json},"media":${JSON.stringify(media)}}`,
        ),
      (error) =>
        this.#reply(JSON.stringify({ call, error: errorMessage(error).slice(0, MAX_ERROR_CHARACTERS) })),
    ).then(resolve);
  }

  /** Aborts the calls that still run. Their results are not sent. */
  end(): void {
    this.#controller.abort(new DOMException("The exec that made the call has ended", "AbortError"));
    this.#ended.resolve();
  }

  /** Returns the tool's result. Fails while the pending calls are too large together. */
  async #run({ bytes, ...call }: RunningCall & { bytes: number }): Promise<EncodedToolValue> {
    if (this.#pendingBytes > 0 && this.#pendingBytes + bytes > MAX_PENDING_BYTES) {
      throw new Error(`pending calls must have at most ${MAX_PENDING_BYTES} bytes together`);
    }
    this.#pendingBytes += bytes;
    try {
      return await this.#call(call);
    } finally {
      this.#pendingBytes -= bytes;
    }
  }

  async #call({ name, args, argumentsText, delivered }: RunningCall): Promise<EncodedToolValue> {
    if (isDeeperThan(MAX_DEPTH, args)) throw new Error(`the arguments of '${name}' are nested too deep`);
    const tool = this.#tools.get(name);
    if (!tool) throw new Error(`no host tool '${name}' is granted to this block`);
    if (this.#seen.size > this.#budget) {
      throw new Error(`the budget of ${this.#budget} host tool calls in one block is used up`);
    }
    const parsed = tool.parameters.safeParse(args, { error: describeIssue });
    if (!parsed.success) throw new Error(`wrong arguments for '${name}': ${issuesText(parsed.error.issues)}`);
    const value = await tool.run(parsed.data, {
      signal: this.#controller.signal,
      argumentsText,
      delivered: Promise.race([delivered, this.#ended.promise]),
    });
    return encodeToolValue(value);
  }

  async #reply(text: string): Promise<void> {
    if (!this.#controller.signal.aborted) await this.#onReply(text);
  }
}

interface RunningCall {
  readonly name: string;
  readonly args: Record<string, unknown>;
  readonly argumentsText: string | undefined;
  /** Resolves when the result is written to the guest. */
  readonly delivered: Promise<void>;
}

function issuesText(issues: readonly { path: PropertyKey[]; message: string }[]): string {
  const lines = issues.slice(0, MAX_ISSUES)
    .map(({ path, message }) => path.length > 0 ? `${path.join(".")}: ${message}` : message);
  const omitted = issues.length - lines.length;
  if (omitted > 0) lines.push(`and ${omitted} more`);
  return lines.join("; ");
}
