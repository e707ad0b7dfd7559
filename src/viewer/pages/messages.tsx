import type { FC } from "hono/jsx";
import type { ContentPart, Message, ToolCall } from "../../message.ts";
import { type CallView, type EpisodeView, turnsOfMessages, type TurnView } from "../episode_view.ts";
import { formatBytes, formatMs, formatNumber } from "./layout.tsx";
import { Code, plainLabel, SafeText, splitFences } from "./safe_text.tsx";
import { Picture, ShownObject } from "./shown_objects.tsx";

/** Messages of a page. */
const SHOWN_MESSAGES = 300;

interface ChatProps {
  readonly episode: EpisodeView;
  /** Characters of a text that are shown. */
  readonly limit: number;
  /** Address of the page with all messages; all are shown without it. */
  readonly allHref: string | undefined;
}

/** The conversation of an episode, with a link to each turn. */
export const Chat: FC<ChatProps> = ({ episode, limit, allHref }) => {
  const turnOf = turnsOfMessages(episode);
  const turns = new Map(episode.turns.map((turn) => [turn.turn, turn]));
  const calls = Map.groupBy(episode.calls, ({ turn }) => turn);
  const placed = new Set(turnOf.values());
  const shown = allHref === undefined ? episode.messages : episode.messages.slice(0, SHOWN_MESSAGES);
  const left = episode.messages.length - shown.length;
  return (
    <>
      <ol class="chat">
        {shown.map((message, index) => {
          const turn = turnOf.get(index);
          return (
            <ChatMessage
              message={message}
              turn={turn === undefined ? undefined : turns.get(turn)}
              calls={turn === undefined ? [] : calls.get(turn) ?? []}
              limit={limit}
            />
          );
        })}
      </ol>
      {left > 0 && (
        <p>
          <a href={allHref}>{`Show ${formatNumber(left)} more messages`}</a>
        </p>
      )}
      {episode.calls.some(({ turn }) => !placed.has(turn)) && (
        <section>
          <h3>Tool calls of other turns</h3>
          {episode.calls.filter(({ turn }) => !placed.has(turn)).map((call) => <CallLine call={call} />)}
        </section>
      )}
    </>
  );
};

interface ChatMessageProps {
  readonly message: Message;
  readonly turn: TurnView | undefined;
  readonly calls: readonly CallView[];
  readonly limit: number;
}

const ROLES: ReadonlySet<string> = new Set(["system", "user", "assistant", "tool"]);

const ChatMessage: FC<ChatMessageProps> = ({ message, turn, calls, limit }) => {
  const { role, content, reasoning_content, tool_calls = [], tool_responses = [], name } = message;
  const isTool = role !== "user" && role !== "system" && role !== "assistant";
  return (
    <li class={`message ${ROLES.has(role) ? role : "tool"}`} id={turn && `turn-${turn.turn}`}>
      <div class="head">
        <span class="role">
          <SafeText text={name === undefined ? role : `${role} ${name}`} limit={60} />
        </span>
        {turn && <TurnFacts turn={turn} />}
        {message.is_complete === false && <span class="bad">cut off</span>}
      </div>
      <div class="body" dir="auto">
        {reasoning_content !== undefined && reasoning_content !== "" && (
          <details open>
            <summary>Reasoning</summary>
            <Prose text={reasoning_content} limit={limit} />
          </details>
        )}
        {typeof content === "string"
          ? <MessageText text={content} isTool={isTool} limit={limit} />
          : (content ?? []).map((part) => <Part part={part} isTool={isTool} limit={limit} />)}
        {tool_responses.map((text) => <MessageText text={text} isTool limit={limit} />)}
        {tool_calls.map((call) => <RequestedCall call={call} limit={limit} />)}
        {calls.map((call) => <CallLine call={call} />)}
      </div>
    </li>
  );
};

const TurnFacts: FC<{ turn: TurnView }> = (
  { turn: { turn, reward, policyMs, envMs, finishReason, usage, version } },
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
      <a class="turn" href={`#turn-${turn}`}>{`Turn ${turn}`}</a>
      <span class="facts">{facts.join(" · ")}</span>
    </>
  );
};

const MessageText: FC<{ text: string; isTool: boolean; limit: number }> = ({ text, isTool, limit }) =>
  isTool
    ? (
      <pre class="output" tabindex={0} role="region" aria-label="Output">
        <SafeText text={text} limit={limit} />
      </pre>
    )
    : <Prose text={text} limit={limit} />;

/** Text of a person or a model: its code blocks are coloured, the rest is as it is. */
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
    {text.length > limit && (
      <p class="more">{`… ${(text.length - limit).toLocaleString("en")} more characters`}</p>
    )}
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
const RequestedCall: FC<{ call: ToolCall; limit: number }> = ({ call: { name, arguments: args }, limit }) => {
  const isText = typeof args === "string";
  const code = isText
    ? undefined
    : Object.entries(args).find(([key, value]) =>
      Object.hasOwn(CODE_ARGUMENTS, key) && typeof value === "string"
    );
  const rest = isText || code === undefined ? args : Object.fromEntries(
    Object.entries(args).filter(([key]) => key !== code[0]),
  );
  const others = isText ? args : Object.keys(rest).length > 0 ? JSON.stringify(rest, null, 2) : "";
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

/** What became of a tool call, and what it showed. */
const CallLine: FC<{ call: CallView }> = ({ call }) => {
  const { turn, tool, status, durationMs, truncated, stateKept, peakMemoryBytes } = call;
  const { denied, display = [], droppedDisplays = 0 } = call;
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
        <span class={`badge ${status === "ok" ? "ok" : "bad"}`}>
          <SafeText text={status} limit={40} />
        </span>
        <SafeText text={tool} limit={80} />
        <span class="facts">{[`turn ${turn}`, formatMs(durationMs ?? 0), ...notes].join(" · ")}</span>
      </p>
      {display.map((bundle) => <ShownObject bundle={bundle} />)}
    </div>
  );
};
