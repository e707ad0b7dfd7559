// The part of the types of @huggingface/tokenizers that is used here. See docs/decisions/hand_written_types.md.

/** Turns tokens into texts. The members may be replaced. */
export interface Decoder {
  decode_chain: (tokens: string[]) => string[];
}

export const ByteFallbackDecoder: abstract new (...args: never) => Decoder;

export const ByteLevelDecoder: abstract new (
  ...args: never
) => Decoder & { byte_decoder: Record<string, number> };

export const SequenceDecoder: abstract new (...args: never) => { decoders: Decoder[] };

export interface Tokenizer {
  readonly normalizer: ((text: string) => string) | null;
  readonly decoder: object | null;
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  decode(
    ids: number[],
    options: { skip_special_tokens: boolean; clean_up_tokenization_spaces: boolean },
  ): string;
  id_to_token(id: number): string | undefined;
}

export const Tokenizer: new (tokenizer: object, config: object) => Tokenizer;
