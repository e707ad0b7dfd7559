/** Files to read, by their paths in a folder that is gone when the test is over. */
export async function withFiles<T>(
  files: Readonly<Record<string, string | Uint8Array>>,
  test: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "datasets" });
  try {
    for (const [path, content] of Object.entries(files)) {
      await Deno.mkdir(`${folder}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      await Deno.writeFile(`${folder}/${path}`, bytes);
    }
    return await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The bytes of a text as `gzip` packs them. */
export async function gzipped(text: string): Promise<Uint8Array> {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

/** Rows as JSON lines. */
export function lines(...rows: readonly unknown[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}
