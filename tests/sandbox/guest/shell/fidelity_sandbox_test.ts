import { assert, assertEquals } from "@std/assert";
import { loadProfile } from "../../../../mod.ts";
import { withSession } from "../../shared_session.ts";
import commands from "./commands.json" with { type: "json" };
import type { RecordedCommand } from "./record.ts";

const rows: readonly RecordedCommand[] = commands;
const compared = rows.filter(({ skip }) => skip === undefined);

Deno.test("Session.shell() matches bash 5.2 and coreutils in at least 120 commands", async () => {
  assert(compared.length >= 120, `only ${compared.length} commands are compared`);
  const results: object[] = [];
  const profile = await loadProfile("workspace");
  await withSession(async (session) => {
    for (const { command } of compared) {
      await session.reset({ mode: "rewind" });
      const result = await session.shell(command);
      const { stdout, stderr } = result;
      const exitCode = "exitCode" in result ? result.exitCode : result.status;
      results.push({ command, stdout, exitCode, complains: stderr !== "" });
    }
  }, { profile });
  assertEquals(results, compared.map((row) => ({ ...row })));
});

Deno.test("each skipped command has a reason", () => {
  assert(rows.every(({ skip }) => skip === undefined || skip.length > 0));
});
