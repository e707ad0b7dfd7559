import { assert, assertEquals } from "@std/assert";
import { loadProfile } from "../../../../mod.ts";
import { withSession } from "../../started.ts";
import commands from "./commands.json" with { type: "json" };
import type { RecordedCommand } from "./record.ts";

const rows: readonly RecordedCommand[] = commands;
const held = rows.filter(({ skip }) => skip === undefined);

Deno.test("Session.shell() answers at least 120 commands as bash 5.2 and coreutils do", async () => {
  assert(held.length >= 120, `only ${held.length} commands are held to it`);
  const ours: object[] = [];
  const profile = await loadProfile("workspace");
  await withSession(async (session) => {
    for (const { command } of held) {
      await session.reset({ mode: "rewind" });
      const result = await session.shell(command);
      const { stdout, stderr } = result;
      const exitCode = "exitCode" in result ? result.exitCode : result.status;
      ours.push({ command, stdout, exitCode, complains: stderr !== "" });
    }
  }, { profile });
  assertEquals(ours, held.map((row) => ({ ...row })));
});

Deno.test("each recorded command that ours is not held to says why", () => {
  assert(rows.every(({ skip }) => skip === undefined || skip.length > 0));
});
