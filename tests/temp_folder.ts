import { dirname, join } from "node:path";

/** A temporary folder of files. It is removed on dispose. */
export class TempFolder implements AsyncDisposable {
  private constructor(readonly path: string) {}

  static async of(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<TempFolder> {
    const path = await Deno.realPath(await Deno.makeTempDir());
    for (const [name, text] of Object.entries(files)) {
      await Deno.mkdir(dirname(join(path, name)), { recursive: true });
      await Deno.writeFile(
        join(path, name),
        typeof text === "string" ? new TextEncoder().encode(text) : text,
      );
    }
    return new TempFolder(path);
  }

  file(path: string): { path: string; hostPath: string } {
    return { path, hostPath: join(this.path, path) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}
