import { dirname } from "node:path";

const MAX_LINES = 1000;
/** Longer lines, such as pasted data, are not saved. */
const MAX_LINE_CHARACTERS = 10_000;

/** History of input lines, saved in a file that only the owner can read. */
export class ReplHistory {
  readonly #path: string;
  /** Newest first. */
  readonly lines: readonly string[];

  private constructor(path: string, lines: readonly string[]) {
    this.#path = path;
    this.lines = lines;
  }

  /** Reads the history file. The history is empty if the file cannot be read. */
  static async load(path: string): Promise<ReplHistory> {
    const text = await Deno.readTextFile(path).catch(() => "");
    const lines = text.split("\n").filter((line) => line !== "");
    if (lines.length > 2 * MAX_LINES) await save(path, lines.slice(-MAX_LINES), { append: false });
    return new ReplHistory(path, lines.slice(-MAX_LINES).reverse());
  }

  async add(line: string): Promise<void> {
    if (line.trim() !== "" && line.length <= MAX_LINE_CHARACTERS) {
      await save(this.#path, [line], { append: true });
    }
  }
}

async function save(path: string, lines: readonly string[], options: { append: boolean }): Promise<void> {
  try {
    await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await Deno.writeTextFile(path, lines.map((line) => `${line}\n`).join(""), { ...options, mode: 0o600 });
  } catch {
    // The session works without a history file: lines are then remembered until the session ends.
  }
}
