import { TokenError } from "../../errors.ts";
import { History } from "../../history.ts";
import { type Message, messageText, type ToolCall, type ToolSpec } from "../../message.ts";
import { EpisodeWriter, type TokenOptions } from "../../rollout/tokens/episode_writer.ts";
import type { TokenFormat } from "../../rollout/tokens/token_format.ts";
import type { ChatPath } from "./chat_tree.ts";
import { type PromptWriter, UntrackedWriter } from "./prompt_writer.ts";
import type { ChangeNote, PromptDraft, SampledTurn } from "./session_row.ts";
import { isJsonObject } from "../../json.ts";

/** Format and mode of the tokens of a session. */
export interface SessionTokens extends Pick<TokenOptions, "mode"> {
  /** @default the model server returns no token ids, and none are recorded */
  readonly format?: TokenFormat | undefined;
}

/** The chat of a request, and what the session knows of the chat. */
export interface RequestedChat {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  readonly path: ChatPath;
  /** Finds a turn by the message's key, if the session has the turn in another chat. */
  readonly findTurn: (key: string) => SampledTurn | undefined;
  /** Returns whether a row is the session's, so that the session may continue it. */
  readonly isOwn: (row: SampledTurn["row"]) => boolean;
  /** Turn that the session sampled last. */
  readonly latest: SampledTurn | undefined;
}

/**
 * Writes the prompt of a request. A chat that extends the last turn of a row continues the row's tokens. Any
 * other chat gets tokens of its own: its sampled messages keep the ids that the server sampled, and
 * everything else is encoded as text without control tokens.
 *
 * @throws {TokenError} if the template cannot show the chat.
 */
export function draftPrompt(chat: RequestedChat, tokens: SessionTokens): PromptDraft {
  const [at, turn] = [...chat.path.sampled].at(-1) ?? [];
  if (at === undefined || turn === undefined || turn.row.tip !== turn || !chat.isOwn(turn.row)) {
    return draftBranch(chat, tokens);
  }
  const writer = turn.row.copyWriter();
  const added = chat.messages.slice(at + 1).map((message) => toPlainMessage(message, tokens.format));
  const history = turn.row.history.extend(added);
  writer.step(history);
  const changes = chat.path.kept.flatMap((message) =>
    noteOf("kept", message, chat.path.sampled.get(message))
  );
  return { writer, history, base: turn, shared: 0, parent: undefined, changes };
}

function draftBranch(chat: RequestedChat, tokens: SessionTokens): PromptDraft {
  const { messages, path, latest } = chat;
  const shared = [...path.sampled.values()].at(-1);
  const { writer, history } = writeChat(chat, tokens);
  const origin = shared ?? latest;
  return {
    writer,
    history,
    base: undefined,
    shared: shared?.number ?? 0,
    parent: origin && { id: origin.row.id, turn: (shared?.number ?? 0) + 1 },
    changes: path.depth < messages.length ? changeAt(path.depth, chat) : [],
  };
}

/** Describes the first message that differs from the session's record, if a turn was expected there. */
function changeAt(at: number, { messages, path: { answer } }: RequestedChat): ChangeNote[] {
  const message = messages[at];
  if (message?.role !== "assistant") return noteOf("dropped", at, answer);
  const text = messageText(message).trim();
  const isCut = text !== "" && answer?.answer.text.trim().startsWith(text);
  return noteOf(isCut ? "cut" : "rewritten", at, answer);
}

function noteOf(kind: ChangeNote["kind"], index: number, turn: SampledTurn | undefined): ChangeNote[] {
  return turn === undefined ? [] : [{ kind, index, row: turn.row.id, turn: turn.number }];
}

/** Writes a whole chat, with the sampled ids of the chat's turns. */
function writeChat(
  { messages, tools, path, findTurn }: RequestedChat,
  { format, mode }: SessionTokens,
): { writer: PromptWriter; history: History } {
  const writer = format === undefined
    ? new UntrackedWriter()
    : new EpisodeWriter({ tokenizer: format.tokenizer, format, mode, onRewrite: "keep" });
  const turnAt = (at: number) => {
    if (messages[at]?.role !== "assistant" || at === 0) return undefined;
    return path.sampled.get(at) ?? findTurn(path.keys[at] ?? "");
  };
  let history = History.fromChats([]);
  let part: Message[] = [];
  let isStarted = false;
  const write = () => {
    history = history.extend(part);
    if (isStarted) writer.step(history);
    else writer.start({ task: TASK, history: { prompt: history }, tools });
    isStarted = true;
    part = [];
  };
  for (const [at, message] of messages.entries()) {
    const turn = turnAt(at);
    if (turn === undefined) {
      part.push(toPlainMessage(message, format));
    } else if (mode === "rerender") {
      part.push(turn.reply.message); // this mode encodes the text of earlier replies again in each turn
    } else {
      write();
      writer.reply(turn.reply);
      history = history.append(turn.reply.message);
    }
  }
  write();
  if (history.length === 0) throw new TokenError("Cannot write prompt as it must have a message: found none");
  return { writer, history };
}

/** The writer needs a task and does not read the task. */
const TASK = { id: "", query: "" };

/**
 * Returns a message whose text and calls have no control tokens. The format trusts the assistant's texts,
 * since the format expects sampled texts; here the texts are the agent's.
 */
function toPlainMessage(message: Message, format: TokenFormat | undefined): Message {
  if (message.role !== "assistant" || format === undefined) return message;
  const { chat } = format;
  const plain = (text: string) => chat.neutralise(chat.cutEnd(text), "assistant");
  const { tool_calls: calls, reasoning_content: _thought, ...rest } = message;
  return {
    ...rest,
    content: plain(messageText(message)),
    ...(calls && { tool_calls: calls.map((call) => toPlainCall(call, plain)) }),
  };
}

function toPlainCall({ id, name, arguments: args }: ToolCall, plain: (text: string) => string): ToolCall {
  const json = plain(typeof args === "string" ? args : JSON.stringify(args));
  return { ...(id !== undefined && { id: plain(id) }), name: plain(name), arguments: objectOf(json) ?? json };
}

function objectOf(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isObject = isJsonObject(value);
    return isObject ? value as Record<string, unknown> : undefined;
  } catch {
    return undefined; // a template gets the text
  }
}
