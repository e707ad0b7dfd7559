import { assertEquals } from "@std/assert";
import { getFiles } from "../../src/sandbox/guest_files.ts";
import type { GuestLink } from "../../src/sandbox/guest_link.ts";

Deno.test("getFiles() reads a file once, whatever its names, and returns at most 64 MiB", async () => {
  let reads = 0;
  const contents = new Uint8Array(30 << 20);
  const link: Pick<GuestLink, "alive" | "request"> = {
    alive: true,
    request: () => {
      reads++;
      return Promise.resolve(contents);
    },
  };
  const names = Array.from({ length: 40 }, (_, at) => `${"./".repeat(at)}a`);
  const files = await getFiles(link as GuestLink, names);
  assertEquals([Object.keys(files), reads], [["a", "./a"], 1]);
});
