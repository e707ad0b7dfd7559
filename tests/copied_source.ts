import { assertEquals } from "@std/assert";
import { cp } from "node:fs/promises";
import { dirname } from "node:path";
import { TempFolder } from "./temp_folder.ts";

const ROOT = new URL("../", import.meta.url);

/** A copy of the source, in which a test makes a change that a newcomer would make. */
export class CopiedSource implements AsyncDisposable {
  readonly #folder: TempFolder;

  private constructor(folder: TempFolder) {
    this.#folder = folder;
  }

  /** Copies `src`, its configuration and further files. */
  static async of(...files: readonly string[]): Promise<CopiedSource> {
    const folder = await TempFolder.of();
    for (const path of ["deno.json", "deno.lock", "src", ...files]) {
      await cp(new URL(path, ROOT), `${folder.path}/${path}`, { recursive: true });
    }
    return new CopiedSource(folder);
  }

  async write(path: string, text: string): Promise<void> {
    const file = `${this.#folder.path}/${path}`;
    await Deno.mkdir(dirname(file), { recursive: true });
    await Deno.writeTextFile(file, text);
  }

  /** Inserts a text behind the only place that has `marker`. */
  async insert(path: string, marker: string, text: string): Promise<void> {
    const source = await Deno.readTextFile(`${this.#folder.path}/${path}`);
    const parts = source.split(marker);
    assertEquals(parts.length, 2, `${path} must have '${marker}' once`);
    await this.write(path, parts.join(marker + text));
  }

  /** Runs a script of the copy, without a network, and returns what it prints. */
  async run(script: string): Promise<string> {
    const args = ["run", "-A", "--no-check", "--cached-only", script];
    const command = new Deno.Command(Deno.execPath(), { args, cwd: this.#folder.path });
    const { code, stdout, stderr } = await command.output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]();
  }
}
