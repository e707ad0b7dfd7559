import type { Tokenizer } from "../../chat/tokenizer.ts";
import { TokenError } from "../../errors.ts";
import { type SampledReply, textsEquivalent } from "./sampled_reply.ts";

/** Position in a {@linkcode TokenBuffer}. */
export interface BufferPosition {
  readonly ids: number;
  readonly text: number;
}

/** Append-only buffer of an episode's tokens and their text. */
export class TokenBuffer {
  readonly #tokenizer: Tokenizer;
  readonly ids: number[] = [];
  readonly lossMask: (0 | 1)[] = [];
  /** Log-probabilities; 0 for tokens that were not sampled. Not valid if `hasLogProbs` is false. */
  readonly logProbs: number[] = [];
  text = "";
  /** False after a reply without log-probabilities. */
  hasLogProbs = true;

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  get position(): BufferPosition {
    return { ids: this.ids.length, text: this.text.length };
  }

  /** Copies the buffer up to a position. */
  copyTo({ ids, text }: BufferPosition): TokenBuffer {
    const copy = new TokenBuffer(this.#tokenizer);
    for (const [at, id] of this.ids.slice(0, ids).entries()) {
      copy.#push(id, this.lossMask[at] ?? 0, this.logProbs[at] ?? 0);
    }
    copy.text = this.text.slice(0, text);
    copy.hasLogProbs = this.hasLogProbs;
    return copy;
  }

  /** Appends text that was not sampled. */
  addText(text: string): void {
    if (text === "") return;
    const ids = this.#tokenizer.encode(text);
    const decoded = this.#tokenizer.decode(ids);
    if (!textsEquivalent(decoded, text, this.#tokenizer.specialTokens)) {
      throw new TokenError(
        `Cannot encode text as tokenizer '${this.#tokenizer.name}' must decode to what it encoded: ` +
          differenceOf(text, decoded),
      );
    }
    for (const id of ids) this.#push(id, 0, 0);
    this.text += text;
  }

  /** Appends a turn: the sampled tokens and the text after them. */
  addTurn({ ids, text, logProbs }: SampledReply, rest: string): void {
    for (const [at, id] of ids.entries()) this.#push(id, 1, logProbs?.[at] ?? 0);
    this.text += text;
    this.hasLogProbs &&= logProbs !== undefined;
    this.addText(rest);
  }

  #push(id: number, mask: 0 | 1, logProb: number): void {
    this.ids.push(id);
    this.lossMask.push(mask);
    this.logProbs.push(logProb);
  }
}

const SHOWN = 40;

/** Describes the first difference of two texts. */
function differenceOf(expected: string, found: string): string {
  let at = 0;
  while (at < expected.length && expected[at] === found[at]) at++;
  const shown = (text: string) => JSON.stringify(text.slice(at, at + SHOWN));
  return `at character ${at} it gives ${shown(found)} for ${shown(expected)}`;
}
