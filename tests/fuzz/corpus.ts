import { type Target, toBytes } from "./fuzzer.ts";

/** An input of the kept corpus, and why it is there. */
export interface KeptInput {
  readonly input: Uint8Array;
  /** What the target did with it, or what did not hold when it was found. */
  readonly note: string;
}

/** Maximum size of a kept corpus for inputs that only differ in what the target does, in bytes. */
const MAX_CORPUS_BYTES = 20 * 1024;
/** Maximum size of such an input. */
const MAX_KEPT_BYTES = 600;

/** The inputs of a target that are kept in a file of JSON lines. */
export class Corpus {
  readonly #path: URL;
  readonly #form: Target["form"];
  readonly #inputs: KeptInput[];
  #bytes: number;

  private constructor(path: URL, form: Target["form"], text: string) {
    this.#path = path;
    this.#form = form;
    this.#bytes = text.length;
    this.#inputs = text.split("\n").filter((line) => line !== "").map((line) => {
      const { input, note } = JSON.parse(line) as { input: string; note: string };
      return { input: form === "text" ? toBytes(input) : Uint8Array.fromBase64(input), note };
    });
  }

  /** Reads the corpus of a target. `folder` ends with a slash. */
  static async read(name: string, target: Target, folder: URL = CORPUS_FOLDER): Promise<Corpus> {
    const path = new URL(`${name}.jsonl`, folder);
    const text = await Deno.readTextFile(path).catch((error) => {
      if (error instanceof Deno.errors.NotFound) return ""; // a new target has none
      throw error;
    });
    return new Corpus(path, target.form, text);
  }

  get inputs(): readonly KeptInput[] {
    return this.#inputs;
  }

  /** Keeps an input that failed. Returns false if there is one with the same note. */
  async addFailure(kept: KeptInput): Promise<boolean> {
    return await this.#add(kept);
  }

  /** Keeps an input with which the target does something else than with the others, if it is small and there is room. */
  async addKind(kept: KeptInput): Promise<boolean> {
    if (kept.input.length > MAX_KEPT_BYTES || this.#bytes > MAX_CORPUS_BYTES) return false;
    return await this.#add(kept);
  }

  async #add(kept: KeptInput): Promise<boolean> {
    if (this.#inputs.some(({ note }) => note === kept.note)) return false;
    const text = this.#form === "text" ? new TextDecoder("utf-8").decode(kept.input) : kept.input.toBase64();
    const line = `${JSON.stringify({ input: text, note: kept.note })}\n`;
    this.#inputs.push(kept);
    this.#bytes += line.length;
    await Deno.writeTextFile(this.#path, line, { append: true });
    return true;
  }
}

/** Folder of the files, one for each target. */
export const CORPUS_FOLDER = new URL("corpus/", import.meta.url);
