import type { FC } from "hono/jsx";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import type { EpisodeView, TokensView } from "../episode/episode_view.ts";
import { formatNumber } from "./format.ts";
import { plainLabel } from "./safe_text.tsx";

/** Tokens of a page. */
const PAGE_TOKENS = 4_000;

interface TokensProps {
  readonly episode: EpisodeView;
  /** Decodes the ids. Without a decoder, ids are shown as numbers. */
  readonly tokenizer: Tokenizer | undefined;
  /** Number of the first token that is shown. */
  readonly from: number;
  /** Returns the address of the page that shows the tokens from a number on. */
  readonly hrefFrom: (from: number) => string;
  /** Returns the address of a turn. */
  readonly turnHref: (turn: number) => string;
}

/** The tokens of an episode: sampled ones are marked, their log-probability is a colour and a title. */
export const Tokens: FC<TokensProps> = (
  { episode: { tokens, turns }, tokenizer, from, hrefFrom, turnHref },
) => {
  if (tokens === null) return <p>The env did not keep the sampled tokens.</p>;
  if (tokens === undefined) return <p>The episode was recorded without tokens.</p>;
  const start = Math.min(Math.max(0, from), Math.max(0, tokens.ids.length - 1));
  const end = Math.min(start + PAGE_TOKENS, tokens.ids.length);
  const sampled = Array.from(tokens.mask).reduce((sum, bit) => sum + bit, 0);
  const turnStarts = new Map(
    turns.flatMap(({ turn, sampled }) => sampled ? [[sampled.start, turn] as const] : []),
  );
  return (
    <>
      <p>
        {`${formatNumber(tokens.ids.length)} tokens, ${
          formatNumber(sampled)
        } of them sampled (mask 1); the first prompt has ${formatNumber(tokens.promptLength)}. `}
        {tokens.logProbs === undefined
          ? "The server gave no log-probabilities. "
          : "Hover over a token for its log-probability. "}
        {tokenizer === undefined && "Ids are shown, as the viewer has no tokenizer: give --tokenizer."}
      </p>
      <p class="legend">
        <span class="token m0">mask 0</span>
        {tokens.logProbs === undefined ? <span class="token m1">mask 1</span> : (
          <>
            {LEVELS.map(({ above }, level) => (
              <span class={`token m1 p${level}`}>{level === 0 ? `mask 1, ≥ ${above}` : `≥ ${above}`}</span>
            ))}
            <span class="token m1 p4">{`< ${LEVELS.at(-1)?.above}`}</span>
          </>
        )}
        {tokenizer !== undefined && <span class="token m0 special">special</span>}
      </p>
      <div class="tokens" dir="ltr" tabindex={0} role="group" aria-label="Tokens">
        {Array.from(
          { length: end - start },
          (_, offset) => (
            <Token
              tokens={tokens}
              at={start + offset}
              tokenizer={tokenizer}
              turn={turnStarts.get(start + offset)}
              turnHref={turnHref}
            />
          ),
        )}
      </div>
      <nav class="pager" aria-label="Tokens">
        {start > 0 && <a href={hrefFrom(Math.max(0, start - PAGE_TOKENS))}>Earlier tokens</a>}
        {(start > 0 || end < tokens.ids.length) && <span>{`${start + 1}–${end}`}</span>}
        {end < tokens.ids.length && <a href={hrefFrom(end)}>Later tokens</a>}
      </nav>
    </>
  );
};

interface TokenProps {
  readonly tokens: TokensView;
  readonly at: number;
  readonly tokenizer: Tokenizer | undefined;
  readonly turn: number | undefined;
  readonly turnHref: (turn: number) => string;
}

const Token: FC<TokenProps> = ({ tokens: { ids, mask, logProbs }, at, tokenizer, turn, turnHref }) => {
  const id = ids[at] ?? 0;
  const text = textOf(id, tokenizer);
  const isSampled = mask[at] === 1;
  const logProb = isSampled ? logProbs?.[at] : undefined;
  const isSpecial = tokenizer?.specialTokens.includes(text) ?? false;
  const title = [
    `token ${at}`,
    `id ${id}`,
    isSampled ? "mask 1" : "mask 0",
    ...logProb === undefined ? [] : [`log-probability ${formatNumber(logProb)}`],
  ].join(", ");
  const level = logProb === undefined ? "" : ` p${levelOf(logProb)}`;
  return (
    <>
      {turn !== undefined && <a class="turn" href={turnHref(turn)}>{`turn ${turn}`}</a>}
      <span class={`token ${isSampled ? "m1" : "m0"}${level}${isSpecial ? " special" : ""}`} title={title}>
        {tokenizer === undefined ? `${id} ` : visibleToken(text)}
      </span>
      {text.endsWith("\n") && <br />}
    </>
  );
};

/** Lower bounds of log-probabilities with the same colour. */
const LEVELS = [{ above: -0.1 }, { above: -0.7 }, { above: -2.3 }, { above: -4.6 }];

function levelOf(logProb: number): number {
  const level = LEVELS.findIndex(({ above }) => logProb >= above);
  return level === -1 ? LEVELS.length : level;
}

function textOf(id: number, tokenizer: Tokenizer | undefined): string {
  if (tokenizer === undefined) return "";
  return tokenizer.has?.(id) === false ? `<${id}>` : tokenizer.decode([id]);
}

/** Returns the text of a token with visible white space. */
function visibleToken(text: string): string {
  const marked = text.replaceAll("\n", "⏎").replaceAll("\t", "⇥");
  return text === "" ? "∅" : plainLabel(marked, 200).replaceAll(" ", "·");
}
