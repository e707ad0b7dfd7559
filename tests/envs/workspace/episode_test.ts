import { assertEquals } from "@std/assert";
import { hasMark, insertHereDocuments } from "../../../src/envs/workspace/episode.ts";
import { HANG_MS } from "../../deadline.ts";

Deno.test("hasMark() finds a mark that begins and ends its lines", () => {
  const found = [
    "<<SUBMISSION||x||SUBMISSION>>",
    "before\n<<SUBMISSION||\na file\n||SUBMISSION>>\nbehind",
    "<<SUBMISSION||||SUBMISSION>> \t\r\n",
    "<<SUBMISSION||a||SUBMISSION>> b\n||SUBMISSION>>",
  ];
  for (const output of found) assertEquals([output, hasMark(output, "SUBMISSION")], [output, true]);
});

Deno.test("hasMark() ignores marks that are quoted, open or of another kind", () => {
  const none = [
    "",
    "echo <<SUBMISSION||x||SUBMISSION>>",
    "<<SUBMISSION||x||SUBMISSION>> and more",
    "<<SUBMISSION||SUBMISSION>>",
    "<<SUBMISSION||\nx",
    "||SUBMISSION>>\n<<SUBMISSION||",
    "<<VALIDATION||x||VALIDATION>>",
  ];
  for (const output of none) assertEquals([output, hasMark(output, "SUBMISSION")], [output, false]);
});

Deno.test({ name: "hasMark() reads marks that never end once", timeout: HANG_MS }, () => {
  for (const line of ["<<VALIDATION||\n", "||VALIDATION>>x\n", "||VALIDATION>>    x\n"]) {
    assertEquals(hasMark(`<<VALIDATION||${line.repeat(300_000)}`, "VALIDATION"), false);
  }
});

const END_NAMES = { edit: "end_of_edit", insert: "end_of_insert" };

Deno.test("insertHereDocuments() turns the text before an end line into a here-document", async (t) => {
  const cases: Readonly<Record<string, readonly [string, string]>> = {
    "of one command": ["edit 1:2\na\nend_of_edit", "edit 1:2 << 'end_of_edit'\na\nend_of_edit"],
    "of one after the other, blanks behind their ends": [
      "edit 1:2\nEOF\nend_of_edit  \nls\ninsert 3\nend_of_edit\nend_of_insert\t",
      "edit 1:2 << 'end_of_edit'\nEOF\nend_of_edit\nls\ninsert 3 << 'end_of_insert'\nend_of_edit\nend_of_insert",
    ],
    "but not what is text of another": [
      "cat > a << 'X'\nedit 1:2\nend_of_edit\nX\nedit 1:1\nend_of_edit",
      "cat > a << 'X'\nedit 1:2\nend_of_edit\nX\nedit 1:1 << 'end_of_edit'\nend_of_edit",
    ],
    "and leaves what has no end": ["end_of_edit\nedit 1:2\na", "end_of_edit\nedit 1:2\na"],
  };
  for (const [name, [command, expected]] of Object.entries(cases)) {
    await t.step(name, () => assertEquals(insertHereDocuments(command, END_NAMES), expected));
  }
});

Deno.test(
  { name: "withHereDocuments() reads many commands once, with an end or without", timeout: HANG_MS },
  () => {
    for (const text of ["edit 1:1\n", "edit 1:1\nend_of_edit\n", "cat << A\n"]) {
      insertHereDocuments(text.repeat(400_000), END_NAMES);
    }
  },
);
