import { assertEquals, assertThrows } from "@std/assert";
import { removeRequirements, whyLines } from "../../../src/cli/packages/graph.ts";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import type { PackageFile } from "../../../src/sandbox/profile/packages.ts";

const PACKAGES: readonly PackageFile[] = [
  packageFile("app", { requirement: "app>=1" }),
  packageFile("base", { neededBy: ["app", "middle"] }),
  packageFile("middle", { neededBy: ["app"], requirement: "middle" }),
  packageFile("rest", { neededBy: ["app"] }),
];

function packageFile(
  name: string,
  { requirement, neededBy = [] }: { requirement?: string; neededBy?: string[] },
): PackageFile {
  const stored = { version: "1.0", source: "index" as const, requirement, neededBy };
  return { name, kind: "stored", path: `${name}-1.0-py3-none-any.whl`, sha256: "0".repeat(64), stored };
}

Deno.test("removeRequirements() removes what only the package needs", () => {
  const left = removeRequirements(PACKAGES, ["app"], "mine");
  assertEquals(left.map(({ name, stored }) => [name, stored?.neededBy]), [["base", ["middle"]], [
    "middle",
    [],
  ]]);
});

Deno.test("removeRequirements() keeps a package that another one needs, without its requirement", () => {
  const left = removeRequirements(PACKAGES, ["middle"], "mine");
  assertEquals(left.map(({ name }) => name), ["app", "base", "middle", "rest"]);
  assertEquals(left[2]?.stored?.requirement, undefined);
});

Deno.test("removeRequirements() refuses packages that the user has not added", () => {
  const refuse = (name: string, text: string) =>
    assertThrows(() => removeRequirements(PACKAGES, [name], "mine"), UsageError, text);
  refuse("base", "Cannot remove 'base' as other packages of profile 'mine' need it: app, middle");
  refuse("other", "its added packages are app, base, middle, rest");
});

Deno.test("whyLines() shows each way from a package to the user's requirements", () => {
  assertEquals(whyLines(PACKAGES, "base", "mine"), [
    "base 1.0",
    "  needed by app 1.0 (requested: app>=1)",
    "  needed by middle 1.0 (requested: middle)",
    "    needed by app 1.0 (requested: app>=1)",
  ]);
  assertThrows(() => whyLines(PACKAGES, "other", "mine"), UsageError, "Cannot find package 'other'");
});

Deno.test("whyLines() ends when packages need each other", () => {
  const circle = [
    packageFile("a", { neededBy: ["b"] }),
    packageFile("b", { neededBy: ["a"], requirement: "b" }),
  ];
  assertEquals(whyLines(circle, "a", "mine").length, 3);
});
