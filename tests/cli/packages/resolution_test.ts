import { assertEquals, assertThrows } from "@std/assert";
import {
  requireFileNames,
  ResolutionError,
  type ResolvedPackage,
} from "../../../src/cli/packages/resolution.ts";

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
