import * as z from "zod";
import { ArgumentRangeError, ArgumentTypeError, CheckpointError, errorMessage } from "../../errors.ts";
import { parseWithIntegers } from "../../numbers/exact_numbers.ts";
import type { ToolAnswer, WaitingCall } from "../contract/exec.ts";
import { encodeToolValue, type MediaPlace, withMedia } from "../tool_value.ts";

/** Maximum size of the calls and answers of an exec, in bytes of JSON. */
export const MAX_JOURNAL_BYTES: number = 1024 * 1024;

const encoder = new TextEncoder();

/** A call as the journal has it: the arguments are JSON. */
const callSchema = z.strictObject({ name: z.string(), args: z.string() });
type JournalCall = z.output<typeof callSchema>;

const entrySchema = callSchema.extend({
  /** The answer, as JSON. */
  answer: z.string(),
  /** Number of calls that the program had made when this call was answered. */
  made: z.int().positive(),
});
/** A call, its answer, and when it was answered. */
export type JournalEntry = z.output<typeof entrySchema>;

/** A journal as JSON. */
export const journalSchema = z.strictObject({
  entries: z.array(entrySchema),
  call: callSchema.optional(),
  made: z.int().nonnegative(),
});

/** The difference between the first run of a program and a later run. */
export interface Divergence {
  /** The call of the first run, which has an answer. */
  readonly call: WaitingCall;
  /** The call of the later run; `undefined` if that run ended without a call. */
  readonly found?: Omit<WaitingCall, "callId"> | undefined;
}

/**
 * The calls of an exec and the answers that they got. A second run of the program gets the same answers, at the same
 * points of the program.
 */
export class CallJournal {
  readonly #entries: JournalEntry[];
  /** Size of the calls and answers. */
  #bytes: number;
  /** The call that waits for its answer. */
  #call: JournalCall | undefined;
  /** Number of calls that the program has made, with those that wait behind that call. */
  #made: number;

  constructor(from: z.output<typeof journalSchema> = { entries: [], made: 0 }) {
    this.#entries = [...from.entries];
    this.#bytes = from.entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
    this.#call = from.call;
    this.#made = from.made;
  }

  /** The calls that have answers, in their order. */
  get entries(): readonly JournalEntry[] {
    return this.#entries;
  }

  /** The call that waits for its answer. */
  get call(): WaitingCall | undefined {
    return this.#call && toWaitingCall(this.#call, this.#entries.length);
  }

  /** Lets a call wait. `made` is the number of calls that the program has made. */
  wait(call: JournalCall, made: number): void {
    this.#call = call;
    this.#made = made;
  }

  /**
   * Answers the call that waits.
   *
   * @throws {ArgumentTypeError} if the answer is no JSON.
   * @throws {ArgumentRangeError} if the journal would be too large.
   */
  answer(answer: ToolAnswer): void {
    if (!this.#call) throw new TypeError("Cannot answer call as none waits");
    const entry = { ...this.#call, answer: toAnswerText(answer), made: this.#made };
    const bytes = this.#bytes + entryBytes(entry);
    if (bytes > MAX_JOURNAL_BYTES) {
      throw new ArgumentRangeError(
        `Cannot resume exec as its calls and answers must have at most ${MAX_JOURNAL_BYTES} bytes together: ` +
          `with this answer they have ${bytes}`,
      );
    }
    this.#entries.push(entry);
    this.#bytes = bytes;
    this.#call = undefined;
  }

  toJSON(): z.output<typeof journalSchema> {
    return { entries: this.#entries, ...(this.#call && { call: this.#call }), made: this.#made };
  }
}

/** Returns a call of the journal, with the number of the entry. */
export function toWaitingCall({ name, args }: JournalCall, index: number): WaitingCall {
  return { callId: `call_${index + 1}`, name, arguments: parseWithIntegers(args) as Record<string, unknown> };
}

/** Returns the size of text in the journal, in bytes. */
export function textBytes(text: string): number {
  return encoder.encode(text).length;
}

/** Returns the value of an answer, or throws its error. */
export function valueOf(answer: string): unknown {
  const { value, error, media = [] } = parseWithIntegers(answer) as AnswerJson;
  if (error !== undefined) throw new Error(error);
  return withMedia(value, media);
}

/** An answer in the journal. */
interface AnswerJson {
  readonly value?: unknown;
  readonly error?: string;
  readonly media?: readonly MediaPlace[];
}

function entryBytes({ args, answer }: Pick<JournalEntry, "args" | "answer">): number {
  return textBytes(args) + textBytes(answer);
}

function toAnswerText(answer: ToolAnswer): string {
  if ("error" in answer && answer.error !== undefined) {
    const { type, message } = answer.error;
    return JSON.stringify({ error: type === undefined ? message : `${type}: ${message}` });
  }
  try {
    const { json, media } = encodeToolValue((answer as { value?: unknown }).value);
    return media.length === 0 ? `{"value":${json}}` : `{"value":${json},"media":${JSON.stringify(media)}}`;
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new ArgumentTypeError(
      `Cannot resume exec as 'value' must be a value of JSON, or bytes: ${reason}`,
      {
        cause,
      },
    );
  }
}

/** Reads a journal from a checkpoint, which was authenticated. */
export function parseRecord<Schema extends z.ZodType>(schema: Schema, bytes: Uint8Array): z.output<Schema> {
  try {
    return z.parse(schema, JSON.parse(new TextDecoder().decode(bytes)));
  } catch (cause) {
    throw new CheckpointError("Cannot restore checkpoint as its waiting exec is invalid", {
      code: "checkpoint_damaged",
      cause,
    });
  }
}
