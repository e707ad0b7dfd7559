import { assertEquals, assertThrows } from "@std/assert";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import { resolveBranches } from "../../../src/cli/rollout/branches.ts";

Deno.test("resolveBranches() reads the points of --branch", () => {
  const branch = ["4@2", "2@3"];
  assertEquals(resolveBranches({ branch }, { maxTurns: 8 }), [{ count: 4, turn: 2 }, { count: 2, turn: 3 }]);
  assertEquals(resolveBranches({}, { maxTurns: 8 }), undefined);
});

Deno.test("resolveBranches() refuses points that are invalid, and flags that do not go with branches", () => {
  const cases: [Parameters<typeof resolveBranches>[0], string][] = [
    [{ branch: ["4"] }, "COUNT@TURN"],
    [{ branch: ["4@2@1"] }, "COUNT@TURN"],
    [{ branch: ["-4@2"] }, "COUNT@TURN"],
    [{ branch: ["1@2"] }, "'count' must be a whole number >= 2"],
    [{ branch: ["2@9"] }, "'turn' must be from 1 to 8"],
    [{ branch: ["2@2", "3@2"] }, "turn 2 must be given once"],
    [{ branch: ["999@1", "999@2"] }, "at most 4096 episodes"],
    [{ branch: ["2@2"], mcp: "servers.jsonc" }, "--mcp"],
    [{ branch: ["2@2"], resume: true }, "--resume"],
    [{ branch: ["2@2"], user: "human" }, "--user human"],
  ];
  for (const [flags, message] of cases) {
    assertThrows(() => resolveBranches(flags, { maxTurns: 8 }), UsageError, message);
  }
});
