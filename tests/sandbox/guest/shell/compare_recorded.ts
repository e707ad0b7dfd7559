import type { Session } from "../../../../mod/sandbox.ts";
import type { RecordedCommand } from "./record.ts";

/** Runs recorded commands, each in a rewound session behind `before`. Returns those whose results differ. */
export async function differingCommands(
  session: Session,
  rows: readonly RecordedCommand[],
  before = "",
): Promise<object[]> {
  const differing: object[] = [];
  for (const { command, stdout, exitCode, complains } of rows) {
    const expected = { stdout, exitCode, complains };
    await session.reset({ mode: "rewind" });
    const result = await session.shell(before + command);
    const actual = {
      stdout: result.stdout,
      exitCode: "exitCode" in result ? result.exitCode : result.status,
      complains: result.stderr !== "",
    };
    if (JSON.stringify(actual) === JSON.stringify(expected)) continue;
    differing.push({ command, actual, expected, stderr: result.stderr });
  }
  return differing;
}
