import { TempFolder } from "../temp_folder.ts";

/** Runs a test with files in a temporary folder, which is removed afterwards. */
export async function withFiles<T>(
  files: Readonly<Record<string, string | Uint8Array>>,
  test: (folder: string) => Promise<T>,
): Promise<T> {
  await using folder = await TempFolder.of(files);
  return await test(folder.path);
}

/** Compresses a text with gzip. */
export async function gzip(text: string): Promise<Uint8Array> {
  const compressed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(compressed).arrayBuffer());
}

/** Formats rows as JSON lines. */
export function toJsonLines(...rows: readonly unknown[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}
