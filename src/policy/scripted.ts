import { requireKnownOptions } from "../options.ts";
import * as z from "zod";
import { errorMessage, PolicyError } from "../errors.ts";
import type { History } from "../history.ts";
import type { Message } from "../message.ts";
import { parseMessage } from "../parse_message.ts";
import { readLines } from "../read_lines.ts";
import { countAssistantTurns, type Policy, type Reply, type ReplyContext } from "./policy.ts";

/** A fixed reply: a text, or a message with tool calls. */
export type ScriptedReply = string | Message;

/** A function that returns the replies of a task, a reply per turn; `undefined` if there are none. */
export type RepliesOfTask = (task: ReplyContext["task"]) => readonly ScriptedReply[] | undefined;

/** A function that replies to a conversation. */
export type ScriptFunction = (
  history: History,
  context: ReplyContext,
) => Reply | string | Promise<Reply | string>;

/** Options of {@linkcode scriptedPolicy}. */
export interface ScriptedPolicyOptions {
  /**
   * Returns the replies of a task.
   *
   * @default the task's `replies`
   */
  replies?: RepliesOfTask | undefined;
  /** Computes each reply; overrides `replies`. */
  script?: ScriptFunction | undefined;
}

/**
 * Creates a policy that plays fixed replies, or the replies of a function. A turn without a reply rejects
 * with a `PolicyError`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, EndOnFinalReply, rollout, scriptedPolicy, TransformedEnv } from "@paddock/paddock";
 *
 * await using env = new TransformedEnv(new ChatEnv(), [new EndOnFinalReply()]);
 * const { messages } = await rollout(env, scriptedPolicy(), { id: "1", query: "6 * 7?", replies: ["42"] });
 * assertEquals(messages.at(-1)?.content, "42");
 * ```
 */
export function scriptedPolicy(options: ScriptedPolicyOptions = {}): Policy {
  requireKnownOptions("call scriptedPolicy", options, { replies: true, script: true });
  const { replies = ({ replies }) => replies, script = turnByTurn(replies) } = options;
  return { name: "scripted", reply: async (history, context) => await script(history, context) };
}

function turnByTurn(find: RepliesOfTask): ScriptFunction {
  return (history, { task }) => {
    const replies = find(task) ?? [];
    const turn = countAssistantTurns(history);
    const reply = replies[turn];
    if (reply === undefined) {
      throw new PolicyError(
        `Cannot play task '${task.id}' as it needs a reply for turn ${turn + 1}: it has ${replies.length}`,
      );
    }
    return typeof reply === "string" ? reply : { message: reply };
  };
}

const MAX_LINE_BYTES = 16 * 1024 * 1024;

const replySchema = z.union([
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

const rowSchema = z.union([
  z.array(replySchema).transform((replies) => ({ id: undefined, replies })),
  z.strictObject({ id: z.union([z.string(), z.number()]).transform(String), replies: z.array(replySchema) }),
], { error: "it must be a list of replies, or { id, replies }" });

/** The replies of a script file. */
export class ScriptFile {
  readonly #named = new Map<string, readonly ScriptedReply[]>();
  readonly #unnamed: (readonly ScriptedReply[])[] = [];

  /**
   * Reads a script file of JSON lines. A line is `{ id, replies }` with the id of a task, or a list of
   * replies; such lists are used in the order of the tasks. A reply is a text, or a message with
   * `tool_calls`.
   *
   * @throws {Error} if the file cannot be opened.
   * @throws {SyntaxError} if a line has neither form; the message has the file and the line number.
   */
  static async read(path: string): Promise<ScriptFile> {
    const file = new ScriptFile();
    using source = await Deno.open(path).catch((cause) => {
      const reason = cause instanceof Deno.errors.NotFound ? "there is no such file" : cause.message;
      throw new Error(`Cannot read '${path}': ${reason}`, { cause });
    });
    let number = 0;
    for await (const line of readLines(source.readable, { maxBytes: MAX_LINE_BYTES })) {
      const location = `${path}:${++number}`;
      if ("fault" in line) throw new SyntaxError(`Cannot read replies at ${location}: ${line.fault}`);
      if (line.text.trim() !== "") file.#add(parseRow(line.text, location));
    }
    return file;
  }

  /** Assigns the next list without id to a task. Call this function for the tasks in the order of their file. */
  assign(id: string): void {
    const replies = this.#unnamed.shift();
    if (replies !== undefined) this.#named.set(id, replies);
  }

  /** Returns the replies of a task; `undefined` if the file has none. */
  repliesOf(id: string): readonly ScriptedReply[] | undefined {
    return this.#named.get(id);
  }

  #add({ id, replies }: z.output<typeof rowSchema>): void {
    if (id === undefined) this.#unnamed.push(replies);
    else this.#named.set(id, replies);
  }
}

function parseRow(text: string, location: string): z.output<typeof rowSchema> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new SyntaxError(`Cannot read replies at ${location} as it must be JSON: ${String(cause)}`, {
      cause,
    });
  }
  const parsed = rowSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new SyntaxError(
    `Cannot read replies at ${location}: ${parsed.error.issues[0]?.message ?? "invalid line"}`,
  );
}
