import { assertEquals, assertRejects } from "@std/assert";
import { zipSync } from "fflate";
import { ArchiveReader, ArchiveSizeError } from "../../../src/sandbox/image/archive.ts";

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

/** Returns an archive of a file of 4 KiB, for which the archive states another size. */
function stating(bytes: number): Uint8Array {
  const archive = zipSync({ "a.txt": new Uint8Array(4096) });
  const view = new DataView(archive.buffer);
  const entry = archive.findLastIndex((_, at) =>
    at + 4 <= archive.length && view.getUint32(at, true) === 0x02014b50
  );
  view.setUint32(entry + 24, bytes, true);
  return archive;
}
