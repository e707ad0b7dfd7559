import { assertEquals, assertRejects } from "@std/assert";
import { openGatewayGraders } from "../../../src/cli/gateway/gateway_graders.ts";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import { History } from "../../../src/history.ts";
import { TempFolder } from "../../temp_folder.ts";

const GRADER = `import { defineGrader } from "@paddock/paddock/rewards";
export default defineGrader({ name: "any", grade: ({ completion }) => completion.length });`;

Deno.test("openGatewayGraders() offers a grader in a file by the file's name, beside those of the server", async () => {
  await using folder = await TempFolder.of({ "length.ts": GRADER, "gsm8k.ts": GRADER });
  await using stack = new AsyncDisposableStack();
  const graders = await openGatewayGraders([`${folder.path}/length.ts`], { stack });
  assertEquals(["length", "hidden_tests", "gsm8k"].filter((name) => !graders.has(name)), []);
  const history = History.fromChats([{ role: "assistant", content: "four" }]);
  const score = await graders.get("length")?.().grade({ task: { id: "t", query: "" }, history });
  assertEquals(score, 4);
  await assertRejects(
    () => openGatewayGraders([`${folder.path}/gsm8k.ts`], { stack }),
    UsageError,
    "rename the file",
  );
});
