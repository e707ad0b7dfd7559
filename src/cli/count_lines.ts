const NEWLINE = 10;

/** How many lines a file has, counted up to `most`; `undefined` for what can be read only once, such as a pipe. */
export async function countLines(path: string, most = Infinity): Promise<number | undefined> {
  if (!(await Deno.stat(path)).isFile) return undefined;
  using file = await Deno.open(path);
  const piece = new Uint8Array(64 * 1024);
  let lines = 0;
  let last = NEWLINE;
  for (let size = await file.read(piece); size !== null && lines < most; size = await file.read(piece)) {
    for (const byte of piece.subarray(0, size)) {
      if (byte === NEWLINE) lines++;
      last = byte;
    }
  }
  return Math.min(most, last === NEWLINE ? lines : lines + 1);
}
