import { assertEquals, assertMatch } from "@std/assert";
import { withIo } from "../../../src/cli/io.ts";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import { downloadPackages, resolvePackages } from "../../../src/cli/packages/install.ts";
import { ResolutionError } from "../../../src/cli/packages/resolution.ts";
import { createInstallation } from "../../../src/cli/packages/sources.ts";
import { isStored } from "../../../src/sandbox/image/package_store.ts";
import { PYODIDE_VERSION, readDistributionAddress } from "../../../src/sandbox/image/pyodide.ts";
import { TempFolder } from "../../temp_folder.ts";
import { makeWheel, PackageIndex } from "./package_index.ts";

/** Adds a package of a distribution on loopback. Returns what was asked, the outcome and the requests to the distribution. */
async function addDistributed(
  input: string,
  { isTerminal = true, yes = false } = {},
): Promise<{ asked: string; failed: string | undefined; stored: boolean; requests: number }> {
  await using folder = await TempFolder.of();
  const { file, bytes, sha256 } = await makeWheel({ name: "arrays", version: "2.0" });
  await using mirror = await PackageIndex.serve([], { mirrored: [{ file, bytes, sha256 }] });
  const info = { abi_version: "2026_0", arch: "wasm32", platform: "emscripten_5_0_3", python: "3.14.2" };
  const entry = {
    name: "arrays",
    version: "2.0",
    file_name: file,
    sha256,
    depends: [],
    package_type: "package",
  };
  let asked = "";
  const sink = {
    write: (text: Uint8Array) => Promise.resolve(sink.writeSync(text)),
    writeSync: (text: Uint8Array) => {
      asked += new TextDecoder().decode(text);
      return text.length;
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
  const cause = { requirement: "arrays", package: "arrays", neededBy: null, found: null };
  const failed = await withIo(io, async () => {
    const installation = {
      ...createInstallation({ yes }, {
        cacheDir: folder.path,
        signal: new AbortController().signal,
        readAddress: () => Promise.resolve(mirror.mirrorUrl),
      }),
      lock: () => Promise.resolve({ info, packages: { arrays: entry } }),
      resolver: () =>
        Promise.resolve({
          resolve: ({ pyodideUrl }: { pyodideUrl?: string | undefined }) => {
            if (pyodideUrl === undefined) throw new ResolutionError({ kind: "missing", causes: [cause] });
            return Promise.resolve([
              { name: "arrays", version: "2.0", file, sha256, requires: [], yanked: false },
            ]);
          },
          download: () => Promise.resolve(new Map<string, Uint8Array>()),
          fetchSource: () => Promise.resolve(undefined),
        }),
    };
    const packages = await resolvePackages({ requirements: ["arrays"], pinned: [] }, installation);
    await downloadPackages(packages, installation);
  }).then(() => undefined, (error: Error) => {
    if (!(error instanceof UsageError)) throw error;
    return error.message;
  });
  return { asked, failed, stored: await isStored(folder.path, sha256), requests: mirror.requests.length };
}

Deno.test("packages come from the distribution's default address after one prompt, or with --yes", async () => {
  const agreed = await addDistributed("y\n");
  assertMatch(
    agreed.asked,
    /^Pyodide's distribution at http:\/\/127\.0\.0\.1:\d+\/mirror\/ has arrays\nDownload\? \[y\/N\] /,
  );
  assertEquals(agreed.asked.match(/Download\?/g)?.length, 1);
  assertEquals([agreed.failed, agreed.stored, agreed.requests], [undefined, true, 1]);
  const flagged = await addDistributed("", { isTerminal: false, yes: true });
  assertEquals([flagged.failed, flagged.stored, flagged.asked.includes("[y/N]")], [undefined, true, false]);
});

Deno.test("nothing is requested from the distribution without agreement", async () => {
  for (const options of [{}, { isTerminal: false }]) {
    const { failed, stored, requests } = await addDistributed("n\n", options);
    assertMatch(failed ?? "", /^Cannot add 'arrays' as/);
    assertEquals([stored, requests], [false, 0]);
  }
});

Deno.test("readDistributionAddress() has the version of Pyodide", async () => {
  const { protocol, pathname } = new URL(await readDistributionAddress());
  assertEquals([protocol, pathname.includes(`/v${PYODIDE_VERSION}/`)], ["https:", true]);
});
