import { assertEquals, assertRejects } from "@std/assert";
import { concat } from "@std/bytes";
import { zipSync } from "fflate";
import { ArchiveReader, ArchiveSizeError, expandFirst } from "../../../src/sandbox/image/archive.ts";

const MIB = 1024 * 1024;

Deno.test("ArchiveReader.expand() returns the files of an archive at the limits", async () => {
  const archive = zipSync({ "a.txt": new Uint8Array(60), "b/c.txt": new Uint8Array(40) });
  const files = await new ArchiveReader({ bytes: 100, files: 2 }).expand(archive);
  assertEquals(Object.entries(files).map(([path, { length }]) => [path, length]), [["a.txt", 60], [
    "b/c.txt",
    40,
  ]]);
});

Deno.test("ArchiveReader.expand() expands nothing of an archive beyond a limit", async () => {
  const large = zipSync({ "a.txt": new Uint8Array(60), "b.txt": new Uint8Array(41) });
  await assertRejects(() => new ArchiveReader({ bytes: 100 }).expand(large), ArchiveSizeError, "100 bytes");
  await assertRejects(() => new ArchiveReader({ files: 1 }).expand(large), ArchiveSizeError, "1 files");
  await assertRejects(
    () => new ArchiveReader().expand(stating(600 * MIB)),
    ArchiveSizeError,
    `${512 * MIB} bytes`,
  );
});

Deno.test("ArchiveReader counts all of its archives together", async () => {
  const archive = zipSync({ "a.txt": new Uint8Array(60) });
  const reader = new ArchiveReader({ bytes: 100 });
  await reader.expand(archive);
  await assertRejects(() => reader.expand(archive), ArchiveSizeError);
});

Deno.test("ArchiveReader.expand() gives a file no more than its stated size", async () => {
  const archive = stating(16);
  const size = await new ArchiveReader({ bytes: 100 }).expand(archive).then(
    (files) => files["a.txt"]?.length ?? 0,
    () => 0,
  );
  assertEquals(size <= 16, true);
});

Deno.test("ArchiveReader.expand() counts a file that is not packed by its bytes, whatever size it states", async () => {
  const archive = zipSync({ "a.txt": new Uint8Array(4096) }, { level: 0 });
  stateSize(archive, 0);
  await assertRejects(() => new ArchiveReader({ bytes: 100 }).expand(archive), ArchiveSizeError, "100 bytes");
});

Deno.test("ArchiveReader.expand() refuses files that overlap, each of which would be a copy of the same bytes", async () => {
  for (const level of [0, 9] as const) {
    const packed = crypto.getRandomValues(new Uint8Array(4096));
    const archive = zipSync({ "a.txt": packed }, { level });
    stateSize(archive, 0);
    await assertRejects(() => new ArchiveReader().expand(repeated(archive, 3)), ArchiveSizeError, "overlap");
  }
});

Deno.test("expandFirst() expands one file, and none that is too large", async () => {
  const text = (value: string) => new TextEncoder().encode(value);
  const files = { "a/METADATA": text("1".repeat(50)), "b/METADATA": text("22"), "c/METADATA": text("333") };
  const path = /^[^/]+\/METADATA$/;
  const first = await expandFirst(zipSync(files), { path, maxBytes: 49 });
  assertEquals(new TextDecoder().decode(first), "22");
  assertEquals(await expandFirst(zipSync(files), { path, maxBytes: 1 }), undefined);
  const stored = zipSync({ "a/METADATA": new Uint8Array(4096) }, { level: 0 });
  stateSize(stored, 0);
  assertEquals(await expandFirst(stored, { path, maxBytes: 49 }), undefined);
});

/** Returns an archive of a file of 4 KiB, for which the archive states another size. */
function stating(bytes: number): Uint8Array {
  const archive = zipSync({ "a.txt": new Uint8Array(4096) });
  stateSize(archive, bytes);
  return archive;
}

/** Changes the size that an archive states for its only file. */
function stateSize(archive: Uint8Array, bytes: number): void {
  new DataView(archive.buffer).setUint32(entryAt(archive) + 24, bytes, true);
}

/** Returns an archive that lists its only file several times. */
function repeated(archive: Uint8Array, times: number): Uint8Array {
  const at = entryAt(archive);
  const end = archive.length - 22;
  const entry = archive.subarray(at, end);
  const parts = [
    archive.subarray(0, at),
    ...Array.from({ length: times }, () => entry),
    archive.subarray(end),
  ];
  const result = concat(parts);
  const view = new DataView(result.buffer, result.length - 22);
  view.setUint16(8, times, true);
  view.setUint16(10, times, true);
  return result;
}

/** Returns the position of the only entry of an archive's directory. */
function entryAt(archive: Uint8Array): number {
  const view = new DataView(archive.buffer);
  return archive.findLastIndex((_, at) =>
    at + 4 <= archive.length && view.getUint32(at, true) === 0x02014b50
  );
}
