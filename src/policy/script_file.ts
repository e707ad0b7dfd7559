import { z } from "zod";
import { errorMessage } from "../errors.ts";
import { type Message, parseMessage } from "../message.ts";
import { readLines } from "../read_lines.ts";
import type { ScriptedReply } from "./scripted.ts";

const MAX_LINE_BYTES = 16 * 1024 * 1024;

const reply = z.union([
  z.string(),
  z.looseObject({ role: z.literal("assistant").default("assistant"), content: z.unknown().optional() })
    .transform((message, context): Message => {
      try {
        return parseMessage({ content: null, ...message }, 0);
      } catch (error) {
        context.addIssue({ code: "custom", message: errorMessage(error) });
        return z.NEVER;
      }
    }),
]);

const row = z.union([
  z.array(reply).transform((replies) => ({ id: undefined, replies })),
  z.strictObject({ id: z.union([z.string(), z.number()]).transform(String), replies: z.array(reply) }),
], { error: "it must be a list of replies, or { id, replies }" });

/** A file of replies, read. */
export class ScriptFile {
  readonly #named = new Map<string, readonly ScriptedReply[]>();
  readonly #unnamed: (readonly ScriptedReply[])[] = [];

  /**
   * Reads JSON lines: `{ id, replies }` with the id of a task, or one list of replies per task, in the order of
   * the tasks. A reply is a text, or a message with `tool_calls`.
   *
   * @throws {Error} when the file cannot be opened.
   * @throws {SyntaxError} at a line that is neither, with the file and the line's number.
   */
  static async read(path: string): Promise<ScriptFile> {
    const file = new ScriptFile();
    using source = await Deno.open(path).catch((cause) => {
      const reason = cause instanceof Deno.errors.NotFound ? "there is no such file" : cause.message;
      throw new Error(`Cannot read '${path}': ${reason}`, { cause });
    });
    let number = 0;
    for await (const line of readLines(source.readable, { maxBytes: MAX_LINE_BYTES })) {
      const place = `${path}:${++number}`;
      if ("fault" in line) throw new SyntaxError(`Cannot read replies at ${place}: ${line.fault}`);
      if (line.text.trim() !== "") file.#add(parseRow(line.text, place));
    }
    return file;
  }

  /** Gives the task the next of the lists that name none; tasks come in the order of their file. */
  assign(id: string): void {
    const replies = this.#unnamed.shift();
    if (replies !== undefined) this.#named.set(id, replies);
  }

  /** The replies of a task. */
  repliesOf(id: string): readonly ScriptedReply[] | undefined {
    return this.#named.get(id);
  }

  #add({ id, replies }: z.output<typeof row>): void {
    if (id === undefined) this.#unnamed.push(replies);
    else this.#named.set(id, replies);
  }
}

function parseRow(text: string, place: string): z.output<typeof row> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new SyntaxError(`Cannot read replies at ${place} as it must be JSON: ${String(cause)}`, { cause });
  }
  const parsed = row.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new SyntaxError(
    `Cannot read replies at ${place}: ${parsed.error.issues[0]?.message ?? "it is none"}`,
  );
}
