import type { Child, FC } from "hono/jsx";
import type { ContentPart, Message, ToolCall } from "../../message.ts";
import {
  MAX_MESSAGE_TEXTS,
  type MessageLimits,
  type MessageRange,
  previousFrom,
  textLimit,
} from "../episode/message_range.ts";
import type { CodeCall } from "../../tools/tool_result.ts";
import { type CallView, type EpisodeView, turnsOfMessages, type TurnView } from "../episode/episode_view.ts";
import { formatBytes, formatMs, formatNumber } from "./format.ts";
import { Code, plainLabel, SafeText, splitFences, splitReasoning } from "./safe_text.tsx";
import { Picture, ShownObject } from "./shown_objects.tsx";

interface ChatProps {
  readonly episode: EpisodeView;
  readonly limits: MessageLimits;
  readonly range: MessageRange;
  /** Returns the address of the page that begins with a message. */
  readonly hrefFrom: (message: number) => string;
  /** True if turns have ids, so that addresses can name them. A page with two chats has none. */
  readonly hasAnchors?: boolean;
}

/** A page of the conversation of an episode, with a link to each turn. */
export const Chat: FC<ChatProps> = ({ episode, limits, range, hrefFrom, hasAnchors = true }) => {
  const turnOf = turnsOfMessages(episode);
  const turns = new Map(episode.turns.map((turn) => [turn.turn, turn]));
  const calls = Map.groupBy(episode.calls, ({ turn }) => turn);
  const placed = new Set(turnOf.values());
  const others = episode.calls.filter(({ turn }) => !placed.has(turn));
  const pager = { count: episode.messages.length, range, hrefFrom };
  return (
    <>
      <MessagePager {...pager} label="Messages" />
      <ol class="chat">
        {episode.messages.slice(range.from, range.to).map((message, at) => {
          const turn = turnOf.get(range.from + at);
          return (
            <ChatMessage
              message={message}
              turn={turn === undefined ? undefined : turns.get(turn)}
              calls={turn === undefined ? [] : calls.get(turn) ?? []}
              limit={textLimit(message, limits)}
              hasAnchor={hasAnchors}
            />
          );
        })}
      </ol>
      <MessagePager {...pager} label="Messages, at their end" />
      {others.length > 0 && (
        <section>
          <h3>Tool calls of other turns</h3>
          <CallList calls={others} hasTurns />
        </section>
      )}
    </>
  );
};

/** Links to other pages of the messages, if there are several pages. */
const MessagePager: FC<
  { count: number; range: MessageRange; hrefFrom: (message: number) => string; label: string }
> = ({ count, range, hrefFrom, label }) =>
  range.to - range.from >= count ? null : (
    <nav class="pager" aria-label={label}>
      {range.from > 0 && <a href={hrefFrom(0)}>First messages</a>}
      {range.from > 0 && <a href={hrefFrom(previousFrom(range))}>Earlier messages</a>}
      <span>
        {`Messages ${formatNumber(range.from + 1)} to ${formatNumber(range.to)} of ${formatNumber(count)}`}
      </span>
      {range.to < count && <a href={hrefFrom(range.to)}>Later messages</a>}
    </nav>
  );

interface ChatMessageProps {
  readonly message: Message;
  readonly turn: TurnView | undefined;
  readonly calls: readonly CallView[];
  readonly limit: number;
  readonly hasAnchor: boolean;
}

const ROLES: ReadonlySet<string> = new Set(["system", "user", "assistant", "tool"]);

const ChatMessage: FC<ChatMessageProps> = ({ message, turn, calls, limit, hasAnchor }) => {
  const { role, content, reasoning_content, tool_calls = [], tool_responses = [], name } = message;
  const parts: readonly ContentPart[] = typeof content === "string"
    ? [{ type: "text", text: content }]
    : content ?? [];
  const isTool = role !== "user" && role !== "system" && role !== "assistant";
  return (
    <li
      class={`message ${ROLES.has(role) ? role : "tool"}`}
      id={turn && hasAnchor ? `turn-${turn.turn}` : undefined}
    >
      <div class="head">
        <span class="role">
          <SafeText text={name === undefined ? role : `${role}: ${name}`} limit={60} />
        </span>
        {turn && <TurnFacts turn={turn} hasAnchor={hasAnchor} />}
        {message.is_complete === false && <span class="bad">cut off</span>}
      </div>
      <div class="body" dir="auto">
        {reasoning_content !== undefined && reasoning_content !== "" && (
          <Reasoning name="Reasoning" text={reasoning_content} limit={limit} />
        )}
        <Bounded
          items={parts}
          render={(part) => <Part part={part} isTool={isTool} limit={limit} />}
        />
        <Bounded
          items={tool_responses}
          render={(text) => <MessageText text={text} isTool limit={limit} />}
        />
        <Bounded items={tool_calls} render={(call) => <RequestedCall call={call} limit={limit} />} />
        <CallList calls={calls} />
      </div>
    </li>
  );
};

/** The first of many items. */
function Bounded<Item>({ items, render }: { items: readonly Item[]; render: (item: Item) => Child }) {
  const left = items.length - MAX_MESSAGE_TEXTS;
  return (
    <>
      {items.slice(0, MAX_MESSAGE_TEXTS).map(render)}
      {left > 0 && <p class="more">{`… ${formatNumber(left)} more, which the raw JSON has`}</p>}
    </>
  );
}

/** Tool calls and what became of them. */
const CallList: FC<{ calls: readonly CallView[]; hasTurns?: boolean }> = ({ calls, hasTurns = false }) => (
  <Bounded items={calls} render={(call) => <CallLine call={call} hasTurn={hasTurns} />} />
);

const TurnFacts: FC<{ turn: TurnView; hasAnchor: boolean }> = (
  { turn: { turn, reward, policyMs, envMs, finishReason, usage, version }, hasAnchor },
) => {
  const facts = [
    `policy ${formatMs(policyMs)}`,
    ...envMs === null ? [] : [`env ${formatMs(envMs)}`],
    ...reward === null ? [] : [`reward ${formatNumber(reward)}`],
    ...finishReason === undefined ? [] : [`finish: ${plainLabel(finishReason, 40)}`],
    ...usage === undefined ? [] : [
      `${formatNumber(usage.promptTokens)} tokens of prompt`,
      `${formatNumber(usage.replyTokens)} of reply`,
    ],
    ...version === undefined ? [] : [`version ${plainLabel(version, 40)}`],
  ];
  return (
    <>
      {hasAnchor
        ? <a class="turn" href={`#turn-${turn}`}>{`Turn ${turn}`}</a>
        : <span>{`Turn ${turn}`}</span>}
      <span class="facts">{facts.join(" · ")}</span>
    </>
  );
};

const MessageText: FC<{ text: string; isTool: boolean; limit: number }> = ({ text, isTool, limit }) =>
  isTool
    ? (
      <pre class="output" tabindex={0} role="group" aria-label="Output">
        <SafeText text={text} limit={limit} />
      </pre>
    )
    : <Reply text={text} limit={limit} />;

/** Text of a person or a model, of which a leading `<think>` block can be folded. */
const Reply: FC<{ text: string; limit: number }> = ({ text, limit }) => {
  const { reasoning, rest } = splitReasoning(text);
  return (
    <>
      {reasoning !== undefined && <Reasoning name="Reasoning in <think>" text={reasoning} limit={limit} />}
      {rest !== "" && <Prose text={rest} limit={limit} />}
    </>
  );
};

const Reasoning: FC<{ name: string; text: string; limit: number }> = ({ name, text, limit }) => (
  <details class="reasoning" open>
    <summary>{name}</summary>
    <Prose text={text} limit={limit} />
  </details>
);

/** Text of a person or a model: code blocks are coloured, the rest is unchanged. */
const Prose: FC<{ text: string; limit: number }> = ({ text, limit }) => (
  <>
    {splitFences(text.slice(0, limit)).map((part) =>
      part.language === undefined
        ? (
          <p class="prose">
            <SafeText text={part.text} limit={limit} />
          </p>
        )
        : <Code code={part.text} language={part.language} limit={limit} />
    )}
    {text.length > limit && <p class="more">{`… ${formatNumber(text.length - limit)} more characters`}</p>}
  </>
);

const Part: FC<{ part: ContentPart; isTool: boolean; limit: number }> = ({ part, isTool, limit }) => {
  if (part.type === "text") return <MessageText text={part.text ?? ""} isTool={isTool} limit={limit} />;
  if (part.type === "image" && part.data !== undefined) {
    return (
      <Picture
        type={part.mime_type ?? "image/png"}
        data={part.data}
        label={plainLabel(part.name ?? "Image")}
      />
    );
  }
  const { data: _, ...rest } = part;
  return <Code code={JSON.stringify(rest, null, 2)} language="json" limit={limit} />; // addresses are never loaded
};

/** A tool call of a message. An argument with code is shown as code. */
const RequestedCall: FC<{ call: ToolCall; limit: number }> = (
  { call: { name, arguments: args, arguments_text }, limit },
) => {
  const isText = typeof args === "string";
  const code = isText
    ? undefined
    : Object.entries(args).find(([key, value]) =>
      Object.hasOwn(CODE_ARGUMENTS, key) && typeof value === "string"
    );
  const rest = isText || code === undefined ? args : Object.fromEntries(
    Object.entries(args).filter(([key]) => key !== code[0]),
  );
  const others = isText
    ? args
    : Object.keys(rest).length === 0
    ? ""
    : code === undefined && arguments_text !== undefined
    ? arguments_text
    : JSON.stringify(rest, null, 2);
  return (
    <div class="request">
      <p>
        <span aria-hidden="true">→</span>
        <strong>
          <SafeText text={name} limit={80} />
        </strong>
      </p>
      {code && <Code code={String(code[1])} language={CODE_ARGUMENTS[code[0]] ?? ""} limit={limit} />}
      {others !== "" && <Code code={others} language="json" limit={limit} />}
    </div>
  );
};

/** Arguments of tools whose values are programs, and their languages. */
const CODE_ARGUMENTS: Readonly<Record<string, string>> = {
  code: "python",
  command: "bash",
  cmd: "bash",
  script: "bash",
};

/** Outcome of a tool call, and the objects that the call showed. */
const CallLine: FC<{ call: CallView; hasTurn: boolean }> = ({ call, hasTurn }) => {
  const { turn, tool, status, durationMs, truncated, stateKept, peakMemoryBytes } = call;
  const { denied, display = [], droppedDisplays = 0, calls = [] } = call;
  const notes = [
    ...typeof peakMemoryBytes === "number" ? [`peak memory ${formatBytes(peakMemoryBytes)}`] : [],
    ...truncated ? ["output cut off"] : [],
    ...stateKept === false ? ["state lost"] : [],
    ...denied === undefined ? [] : [`refused attempts: ${plainLabel(JSON.stringify(denied), 200)}`],
    ...droppedDisplays > 0 ? [`${droppedDisplays} more objects were not saved`] : [],
  ];
  return (
    <div class="call">
      <p>
        <ToolStatus tool={tool} status={status} />
        <span class="facts">
          {[...hasTurn ? [`turn ${turn}`] : [], formatMs(durationMs ?? 0), ...notes].join(" · ")}
        </span>
      </p>
      <Bounded items={display} render={(bundle) => <ShownObject bundle={bundle} />} />
      {calls.length > 0 && (
        <details>
          <summary>{`Calls of tools from the code: ${formatNumber(calls.length)}`}</summary>
          <Bounded items={calls} render={(inner) => <CodeCallLine call={inner} />} />
        </details>
      )}
    </div>
  );
};

const ToolStatus: FC<{ tool: string; status: string }> = ({ tool, status }) => (
  <>
    <span class={`badge ${status === "ok" ? "ok" : "bad"}`}>
      <SafeText text={status} limit={40} />
    </span>
    <SafeText text={tool} limit={80} />
  </>
);

/** A call of a tool that the code of a block made. */
const CodeCallLine: FC<{ call: CodeCall }> = ({ call }) => {
  const { tool, status, durationMs, arguments: args, result, truncated } = call;
  const notes = [formatMs(durationMs ?? 0), ...truncated ? ["not all is in the row"] : []];
  return (
    <div class="call">
      <p>
        <ToolStatus tool={tool} status={status} />
        <span class="facts">{notes.join(" · ")}</span>
      </p>
      {args && <Code code={JSON.stringify(args)} language="json" limit={MAX_CALL_TEXT} />}
      {result !== undefined && <Code code={result} language="json" limit={MAX_CALL_TEXT} />}
    </div>
  );
};

/** Characters of the arguments and of the result of a call from code that are shown. */
const MAX_CALL_TEXT = 4_000;
