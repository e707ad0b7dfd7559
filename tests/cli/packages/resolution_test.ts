import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  isDistributed,
  requireFileNames,
  ResolutionError,
  type ResolvedPackage,
} from "../../../src/cli/packages/resolution.ts";
import { readDistributionLock } from "../../../src/sandbox/image/pyodide.ts";

function found(file: string): ResolvedPackage {
  return { name: "demo", version: "1.0", file, sha256: "0".repeat(64), requires: [], yanked: false };
}

Deno.test("requireFileNames() accepts names of wheels and archives", () => {
  for (const file of ["demo-1.0-py3-none-any.whl", "demo-1!2.0+local.1-py3-none-any.whl", "lib-0.3.zip"]) {
    assertEquals(requireFileNames([found(file)]), undefined);
  }
});

Deno.test("requireFileNames() refuses what could name a path or another kind of file", () => {
  for (
    const file of [
      "../demo.whl",
      "a/b.whl",
      "a\\b.whl",
      "/etc/demo.whl",
      "demo.whl\0",
      "demo.tar.gz",
      ".whl/",
      "",
    ]
  ) {
    assertThrows(() => requireFileNames([found(file)]), ResolutionError, "the index names it");
  }
});

Deno.test("a missing package names the version of Pyodide's distribution, and offers it if it fits", async () => {
  const lock = await readDistributionLock();
  const cause = { package: "numpy", neededBy: null, found: null };
  const fitting = ["numpy", "numpy>=1.17", "numpy[x]>=2,<3", "numpy<3 and >=2"];
  const others = ["numpy>=9", "numpy<2 and >=1", "missing"];
  const allowed = (requirement: string) => {
    return isDistributed({ ...cause, package: requirement.split(/[^a-z]/)[0] ?? "", requirement }, lock);
  };
  assertEquals([...fitting, ...others].map(allowed), [true, true, true, true, false, false, false]);
  const { message } = new ResolutionError({
    kind: "missing",
    causes: [{ ...cause, requirement: "numpy>=9" }],
  }, lock);
  const version = lock.packages.numpy?.version;
  assertStringIncludes(message, `the index has none, and Pyodide's distribution has numpy ${version}`);
});
