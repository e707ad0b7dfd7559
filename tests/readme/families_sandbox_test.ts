import { assertEquals } from "@std/assert";
import { runPaddock } from "../cli/run_paddock.ts";
import { block } from "./pages.ts";

Deno.test("docs/families.md, Families: the references score 1 with the commands of the page", async () => {
  for (const line of block("Families", "sh").trim().split("\n")) {
    const [, args = ""] = /task paddock (.*)$/.exec(line) ?? [];
    const { code, stdout, stderr } = await runPaddock(args.split(" "));
    assertEquals(code, 0, stderr);
    assertEquals(/mean reward {3}1\.0000/.test(stdout), true, stdout);
  }
});
