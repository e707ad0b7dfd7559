import { jsonLength } from "../../json.ts";
import { isLargeInteger, toRowIntegers } from "../../numbers/exact_numbers.ts";
import type { MediaPlace } from "../../sandbox/tool_value.ts";
import type { CodeCall, ToolStatus } from "../tool_result.ts";

/** Maximum length of a recorded result, in characters: the same as for a result that a model reads. */
const MAX_RESULT_CHARACTERS = 65_536;
/** Maximum size of the recorded arguments and results of a block, in characters. */
const MAX_RECORD_CHARACTERS = 1024 * 1024;
/** Number of calls of a block of which each is recorded. */
const MAX_RECORDS = 10_000;

/** End of a call. */
interface CallEnd {
  readonly status: ToolStatus;
  /** Result as JSON, or the text of the error. */
  readonly result: string;
  readonly media?: readonly MediaPlace[];
}

/** Arguments of a call, as the code gave them. */
type CallArguments = Readonly<Record<string, unknown>>;

/** A call that has begun. */
interface OpenCall {
  readonly call: number;
  readonly callId: string;
  readonly tool: string;
  readonly arguments: CallArguments;
  readonly startedAt: number;
}

/** Records the calls of a block. */
export class CallRecords {
  readonly #idPrefix: string;
  readonly #startedAt = performance.now();
  readonly #records: (CodeCall | undefined)[] = [];
  readonly #open = new Set<OpenCall>();
  #count = 0;
  #characters = 0;

  constructor(idPrefix: string) {
    this.#idPrefix = idPrefix;
  }

  /** Ends the recording, and returns the calls in the order of their starts. Calls that still run were interrupted. */
  end(): CodeCall[] {
    for (const open of this.#open) this.close(open, { status: "interrupted", result: INTERRUPTED });
    return this.#records.filter((record) => record !== undefined);
  }

  /** Begins the record of a call. */
  open(tool: string, args: CallArguments): OpenCall {
    const call = ++this.#count;
    const callId = `${this.#idPrefix}-${call}`;
    const open = { call, callId, tool, arguments: args, startedAt: performance.now() };
    if (call > MAX_RECORDS) return open;
    this.#records.push(undefined);
    this.#open.add(open);
    return open;
  }

  /** Ends the record of a call. A call that is not recorded, or has ended, is ignored. */
  close(open: OpenCall, { status, result, media = [] }: CallEnd): void {
    if (!this.#open.delete(open)) return;
    const { call, callId, tool, arguments: args, startedAt } = open;
    const cut = result.length > MAX_RESULT_CHARACTERS
      ? result.slice(0, MAX_RESULT_CHARACTERS).toWellFormed()
      : result;
    const room = MAX_RECORD_CHARACTERS - this.#characters - cut.length;
    const size = jsonLength(args, { most: room });
    const fits = size <= room;
    if (fits) this.#characters += size + cut.length;
    this.#records[call - 1] = {
      caller: "code",
      call,
      callId,
      tool,
      status,
      startMs: startedAt - this.#startedAt,
      durationMs: performance.now() - startedAt,
      ...(fits && { arguments: withLargeIntegersAsText(args), result: cut }),
      ...(fits && media.length > 0 && { media }),
      truncated: !fits || cut.length < result.length,
    };
  }
}

const INTERRUPTED = "the block that made the call had ended";

/** Returns arguments as a row has them: with large integers as text. */
function withLargeIntegersAsText(args: CallArguments): CallArguments {
  const isFlat = Object.values(args).every((value) =>
    typeof value !== "object" && typeof value !== "bigint" && !isLargeInteger(value)
  );
  return isFlat ? args : toRowIntegers(args) as CallArguments;
}
