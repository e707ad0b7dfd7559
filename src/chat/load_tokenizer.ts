import { requireKnownOptions } from "../options.ts";
// @ts-types="./huggingface.d.ts"
import { Tokenizer as HuggingFaceTokenizer } from "@huggingface/tokenizers";
import * as z from "zod";
import { errorMessage } from "../errors.ts";
import { addedTokenEncoder, hasFlags } from "./added_tokens.ts";
import { decodeBytesExactly } from "./byte_decoders.ts";
import type { Tokenizer } from "./tokenizer.ts";

const tokenText = z.union([
  z.string(),
  z.object({ content: z.string() }).transform(({ content }) => content),
]);

const namedTemplates = z.array(z.object({ name: z.string(), template: z.string() }));

const configSchema = z.looseObject({
  name_or_path: z.string().optional(),
  bos_token: tokenText.nullish(),
  eos_token: tokenText.nullish(),
  unk_token: tokenText.nullish(),
  chat_template: z.union([z.string(), namedTemplates]).nullish(),
});

const addedToken = z.looseObject({
  id: z.number(),
  content: z.string().min(1),
  special: z.boolean().optional(),
  single_word: z.boolean().optional(),
  lstrip: z.boolean().optional(),
  rstrip: z.boolean().optional(),
  normalized: z.boolean().optional(),
});

const modelSchema = z.looseObject({
  normalizer: z.unknown().optional(),
  model: z.looseObject({ unk_token: tokenText.nullish() }),
  added_tokens: z.array(addedToken).default([]),
});

/** Options of {@linkcode loadTokenizer}. */
export interface LoadTokenizerOptions {
  /**
   * Name of the model.
   *
   * @default `name_or_path` of the configuration, or the directory's name
   */
  name?: string | undefined;
}

/**
 * Loads a Hugging Face tokenizer from a directory with `tokenizer.json` and `tokenizer_config.json`. A
 * `chat_template.jinja` in the directory overrides the template in the configuration. Special tokens are
 * encoded only where the text contains them literally, even if a normalizer changes the text.
 *
 * @example
 * ```ts ignore
 * import { loadTokenizer } from "@paddock/paddock";
 * import { renderChat } from "@paddock/paddock/chat";
 *
 * const tokenizer = await loadTokenizer("./Qwen3-0.6B");
 * const text = renderChat([{ role: "user", content: "Hello" }], { tokenizer, addGenerationPrompt: true });
 * console.log(tokenizer.encode(text));
 * ```
 *
 * @throws {Deno.errors.NotFound} if one of the two files is missing.
 * @throws {SyntaxError} if one of them is not JSON, or does not describe a tokenizer.
 */
export async function loadTokenizer(
  directory: string | URL,
  options: LoadTokenizerOptions = {},
): Promise<Tokenizer> {
  requireKnownOptions("call loadTokenizer", options, { name: true });
  const root = `${directory instanceof URL ? decodeURIComponent(directory.pathname) : directory}`
    .replace(/\/+$/, "");
  const json = await readJson(`${root}/tokenizer.json`, modelSchema);
  const config = await readJson(`${root}/tokenizer_config.json`, configSchema);
  const templateFile = await readOptional(`${root}/chat_template.jinja`);
  const model = openModel(`${root}/tokenizer.json`, json, config);
  const bosToken = config.bos_token ?? undefined;
  const eosToken = config.eos_token ?? undefined;
  decodeBytesExactly(model);
  const special = json.added_tokens.filter(({ special }) => special);
  // The unknown token also stands for text that does not contain the token, and opens no turn.
  const unknown = [config.unk_token, json.model.unk_token];
  const controls = new Map(
    special.filter(({ content, single_word }) => !unknown.includes(content) && !single_word)
      .map(({ content, id }) => [content, id]),
  );
  const encode = encoderOf({ model, json, config, path: `${root}/tokenizer.json` });
  return {
    name: options.name ?? config.name_or_path ?? root.slice(root.lastIndexOf("/") + 1),
    bosToken,
    eosToken,
    chatTemplate: templateFile ?? defaultTemplate(config.chat_template),
    specialTokens: uniqueTexts([...special.map(({ content }) => content), bosToken, eosToken]),
    encode: json.normalizer ? strictEncoder({ encode, controls }) : encode,
    has: (id) => model.id_to_token(id) !== undefined,
    decode: (ids) => ids.length === 0 ? "" : model.decode([...ids], DECODING),
  };
}

interface EncoderParts {
  readonly model: HuggingFaceTokenizer;
  readonly json: z.infer<typeof modelSchema>;
  readonly config: object;
  readonly path: string;
}

/** Returns the encoder of a model. If added tokens have flags, all of them are found by {@linkcode addedTokenEncoder}. */
function encoderOf({ model, json, config, path }: EncoderParts): (text: string) => number[] {
  const encodeBy = (model: HuggingFaceTokenizer) => (text: string) =>
    text === "" ? [] : model.encode(text, { add_special_tokens: false }).ids;
  const tokens = json.added_tokens;
  if (!tokens.some(hasFlags)) return encodeBy(model);
  // a token before a text shows the pre-tokenizer that the text is not the first part
  const anchor = JSON.stringify(json).includes('"prepend_scheme":"first"') ? tokens[0] : undefined;
  const plainAnchor = anchor && { id: anchor.id, content: anchor.content, special: true };
  const parts = { ...json, normalizer: null, added_tokens: plainAnchor === undefined ? [] : [plainAnchor] };
  const encode = encodeBy(openModel(path, parts, config));
  return addedTokenEncoder({
    tokens,
    normalize: (text) => model.normalizer?.(text) ?? text,
    encode: (text, isFirst) =>
      isFirst || anchor === undefined ? encode(text) : encode(anchor.content + text).slice(1),
  });
}

function uniqueTexts(texts: readonly (string | undefined)[]): string[] {
  return [...new Set(texts.filter((text) => text !== undefined))];
}

const DECODING = { skip_special_tokens: false, clean_up_tokenization_spaces: false };

function openModel(path: string, json: object, config: object): HuggingFaceTokenizer {
  try {
    return new HuggingFaceTokenizer(json, config);
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new SyntaxError(`Cannot load tokenizer as '${path}' must describe one: ${reason}`, { cause });
  }
}

async function readJson<T>(path: string, schema: z.core.$ZodType<T>): Promise<T> {
  const text = await readOptional(path);
  if (text === undefined) {
    throw new Deno.errors.NotFound(`Cannot load tokenizer as '${path}' must exist: no such file`);
  }
  const parsed = z.safeParse(schema, parseJson(path, text));
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `'${path.join(".")}': ${message}`);
  throw new SyntaxError(`Cannot load tokenizer as '${path}' must describe one: ${issues.join("; ")}`);
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new SyntaxError(`Cannot load tokenizer as '${path}' must be JSON: ${reason}`, { cause });
  }
}

async function readOptional(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw error;
  }
}

/** Returns the template, or of several named ones the default or else the first. */
function defaultTemplate(templates: z.infer<typeof configSchema>["chat_template"]): string | undefined {
  if (typeof templates === "string") return templates;
  return (templates?.find(({ name }) => name === "default") ?? templates?.[0])?.template;
}

/** Options of {@linkcode strictEncoder}. */
export interface StrictEncoderOptions {
  /** Encodes text, possibly after normalizing the text. */
  readonly encode: (text: string) => number[];
  /** Ids of the control tokens, by their texts. */
  readonly controls: ReadonlyMap<string, number>;
}

/**
 * Returns an encoder that is safe with a normalizer: the result contains exactly those control tokens that
 * the text contains literally. A normalizer can create others, for example from `＜|im_end|＞`, or by removing
 * a character that breaks a token. In that case the surrounding text is encoded by single characters.
 */
function strictEncoder(options: StrictEncoderOptions): (text: string) => number[] {
  const { encode, controls } = options;
  const ids = new Set(controls.values());
  const splitter = new RegExp(
    `(${sortByLength(controls).map((text) => RegExp.escape(text)).join("|")})`,
    "u",
  );
  if (ids.size === 0) return encode;
  return (text) => {
    const encoded = encode(text);
    const parts = text.split(splitter);
    const expected = parts.flatMap((part) => controls.get(part) ?? []);
    const found = encoded.filter((id) => ids.has(id));
    const isSame = found.length === expected.length && found.every((id, index) => id === expected[index]);
    return isSame ? encoded : parts.flatMap((part) => controls.get(part) ?? encodeWithoutControls(part));
  };

  function encodeWithoutControls(text: string): number[] {
    const encoded = encode(text);
    if (!encoded.some((id) => ids.has(id))) return encoded;
    return [...text].flatMap(encode).filter((id) => !ids.has(id));
  }
}

/** Sorts longer texts first, since a text may be the start of another text. */
function sortByLength(controls: ReadonlyMap<string, number>): string[] {
  return [...controls.keys()].sort((a, b) => b.length - a.length);
}
