import { assertEquals } from "@std/assert";
import { hasMark } from "../../../src/envs/workspace/evaluation_mark.ts";
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
