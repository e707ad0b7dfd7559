import { assertEquals, assertStringIncludes } from "@std/assert";
import { withIo } from "../../../src/cli/io.ts";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import { downloadAtFirstUse } from "../../../src/cli/packages/first_use.ts";
import { sha256 } from "../../../src/hash.ts";
import { isStored } from "../../../src/sandbox/image/package_store.ts";
import { parseProfile } from "../../../src/sandbox/profile/profile.ts";
import { TempFolder } from "../../temp_folder.ts";

const CONTENTS = new TextEncoder().encode("a wheel");
const FILE = "demo-1.0-py3-none-any.whl";

/** Asks for the package of a profile at a terminal whose user types `input`. Returns what was asked, and the outcome. */
async function useProfile(
  input: string,
  { isTerminal = true, isAgreed = false }: { isTerminal?: boolean; isAgreed?: boolean } = {},
): Promise<{ asked: string; failed: string | undefined; stored: boolean }> {
  await using folder = await TempFolder.of();
  const digest = await sha256(CONTENTS);
  const entry = { version: "1.0", file: FILE, sha256: digest, source: "index" };
  const profile = parseProfile(JSON.stringify({ packages: { demo: entry } }), { source: "mine" });
  let asked = "";
  const sink = {
    write: (bytes: Uint8Array) => Promise.resolve(sink.writeSync(bytes)),
    writeSync: (bytes: Uint8Array) => {
      asked += new TextDecoder().decode(bytes);
      return bytes.length;
    },
    isTerminal: () => isTerminal,
  };
  const io = {
    stdin: { readable: new Blob([input]).stream(), isTerminal: () => isTerminal },
    stdout: sink,
    stderr: sink,
    env: { get: () => undefined },
    exitCode: 0,
  };
  const installation = {
    cacheDir: folder.path,
    signal: new AbortController().signal,
    resolver: () =>
      Promise.resolve({
        resolve: () => Promise.resolve([]),
        download: () => Promise.resolve(new Map([[FILE, CONTENTS]])),
        fetchSource: () => Promise.resolve(undefined),
      }),
  };
  const run = () => withIo(io, () => downloadAtFirstUse(profile, { ...installation, isAgreed }));
  const failed = await run().then(() => undefined, (error: Error) => {
    if (!(error instanceof UsageError)) throw error;
    return error.message;
  });
  return { asked, failed, stored: await isStored(folder.path, digest) };
}

Deno.test("downloadAtFirstUse() downloads after the user has agreed in a prompt", async () => {
  const { asked, failed, stored } = await useProfile("y\n");
  assertStringIncludes(
    asked,
    "Profile 'mine' needs a package that is not downloaded: demo 1.0\nDownload? [y/N] ",
  );
  assertEquals([failed, stored], [undefined, true]);
});

Deno.test("downloadAtFirstUse() downloads nothing after another answer", async () => {
  for (const answer of ["n\n", "\n", "", "yesterday\n"]) {
    const { failed, stored } = await useProfile(answer);
    assertStringIncludes(failed ?? "", "add --yes, or run 'paddock packages lock --profile mine'");
    assertEquals(stored, false);
  }
});

Deno.test("downloadAtFirstUse() shows no prompt without a terminal, or with --yes", async () => {
  assertEquals((await useProfile("y\n", { isTerminal: false })).stored, false);
  const { asked, stored } = await useProfile("", { isTerminal: false, isAgreed: true });
  assertEquals([asked, stored], ["", true]);
});
