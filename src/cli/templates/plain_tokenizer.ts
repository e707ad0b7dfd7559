import type { Tokenizer } from "../../chat/tokenizer.ts";

/** Texts that are control tokens in the vocabularies of most models. */
const CONTROL =
  /<[|｜][^<>|｜\n]{1,40}[|｜]>|<\/?s>|<(?:start|end)_of_turn>|<[a-z]+\|>|<\|[a-z]+>|\[\/?INST\]/g;
const BEGIN = "<s>";
const END = "</s>";

/**
 * Returns a tokenizer for a template without a tokenizer: tokens are bytes, and the texts of the template that look like
 * control tokens. This tokenizer shows where a template puts tokens, and not which ids a model has.
 */
export function plainTokenizer(name: string, chatTemplate: string): Tokenizer {
  const specialTokens = [...new Set([...chatTemplate.match(CONTROL) ?? [], BEGIN, END])];
  const longest = specialTokens.toSorted((a, b) => b.length - a.length);
  return {
    name,
    bosToken: BEGIN,
    eosToken: END,
    chatTemplate,
    specialTokens,
    encode: (text) => encode(text, longest),
    decode: (ids) => decode(ids, longest),
  };
}

const FIRST_SPECIAL = 256;

function encode(text: string, specials: readonly string[]): number[] {
  const ids: number[] = [];
  let plain = "";
  const flush = () => {
    ids.push(...new TextEncoder().encode(plain));
    plain = "";
  };
  for (let at = 0; at < text.length;) {
    const special = specials.findIndex((token) => text.startsWith(token, at));
    const step = special === -1 ? text[at] as string : specials[special] as string;
    if (special === -1) plain += step;
    else {
      flush();
      ids.push(FIRST_SPECIAL + special);
    }
    at += step.length;
  }
  flush();
  return ids;
}

function decode(ids: readonly number[], specials: readonly string[]): string {
  const bytes = ids.flatMap((
    id,
  ) => [...new TextEncoder().encode(specials[id - FIRST_SPECIAL]), ...id < FIRST_SPECIAL ? [id] : []]);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(bytes));
}
