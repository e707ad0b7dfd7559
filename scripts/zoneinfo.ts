/** Writes the time zones of a wheel of PyPI's `tzdata` to the file from which images take them. */
import { concat } from "@std/bytes";
import { unzipSync, zlibSync } from "fflate";
import type { ZoneData } from "../src/sandbox/image/standard_library.ts";

const TARGET = new URL("../src/sandbox/image/zoneinfo.json", import.meta.url);
/** Directory of the zones in the package. */
const PACKAGE_DIRECTORY = "tzdata/zoneinfo/";

const [path] = Deno.args;
if (path === undefined) {
  throw new TypeError("Cannot update zones as the path of a wheel of 'tzdata' is needed: there is none");
}
const packed = packZones(path.slice(path.lastIndexOf("/") + 1), await Deno.readFile(path));
await Deno.writeTextFile(TARGET, `${JSON.stringify(packed)}\n`); // `deno fmt` breaks its lines

/** Returns the zones of a wheel of the package `tzdata`. */
function packZones(source: string, wheel: Uint8Array): ZoneData {
  const zones: Record<string, number[]> = {};
  const offsets = new Map<string, number>();
  const pieces: Uint8Array[] = [];
  let end = 0;
  for (const [path, contents] of Object.entries(unzipSync(wheel))) {
    const isZone = path.startsWith(PACKAGE_DIRECTORY) &&
      new TextDecoder().decode(contents.subarray(0, 4)) === "TZif";
    if (!isZone) continue;
    const key = contents.toBase64();
    const start = offsets.get(key) ?? end;
    zones[path.slice(PACKAGE_DIRECTORY.length)] = [start, contents.length];
    if (start !== end) continue;
    offsets.set(key, start);
    pieces.push(contents);
    end += contents.length;
  }
  const files = zlibSync(concat(pieces), { level: 9 });
  return { source, zones, files: files.toBase64() };
}
