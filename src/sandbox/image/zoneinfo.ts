import type { LibraryFile } from "./image_files.ts";

/** Directory of the zones, relative to the mount of the library. The guest links `/usr/share/zoneinfo` to it. */
const DIRECTORY = "/zoneinfo";

/** Time zones in one compressed piece, in which files with the same contents occur once. */
export interface ZoneData {
  /** File name of the package that the zones are from. */
  readonly source: string;
  /** Offset and length of each zone's file. */
  readonly zones: Readonly<Record<string, readonly number[]>>;
  /** The files, joined, compressed with zlib, in base64. */
  readonly files: string;
}

/** Returns the time zones of the IANA database in the format TZif, which `zoneinfo` and other libraries read. */
export async function zoneFiles(): Promise<LibraryFile[]> {
  const { default: data } = await import("./zoneinfo.json", { with: { type: "json" } });
  const { zones, files }: ZoneData = data;
  const stream = new Blob([Uint8Array.fromBase64(files)]).stream();
  const bytes = await new Response(stream.pipeThrough(new DecompressionStream("deflate"))).bytes();
  return Object.entries(zones).map(([name, [start = 0, length = 0]]) => ({
    path: `${DIRECTORY}/${name}`,
    contents: bytes.subarray(start, start + length),
  }));
}
