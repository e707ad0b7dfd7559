import { assertEquals } from "@std/assert";
import { edgeApp } from "../../../src/server/edge.ts";

const LOOPBACK = { remoteAddr: { transport: "tcp", hostname: "127.0.0.1", port: 50_000 } };
const PROGRAM = { completion: "```python\ndef one():\n    return 1\n```", tests: ["assert one() == 1"] };

Deno.test("edgeApp() reports once that it builds the image of Python, at the first grade of a program", async () => {
  let builds = 0;
  await using app = edgeApp({ onBuild: () => void builds++ });
  const grade = async (body: unknown) => {
    const request = new Request("http://localhost:8000/grade", {
      method: "POST",
      body: JSON.stringify(body),
    });
    return (await (await app.fetch(request, LOOPBACK)).json()).score;
  };
  assertEquals(await grade({ grader: "gsm8k", completion: "<answer>42</answer>", answer: "#### 42" }), 1);
  assertEquals(builds, 0);
  assertEquals(await grade({ grader: "hidden_tests", ...PROGRAM }), 1);
  assertEquals(await grade({ grader: "hidden_tests", ...PROGRAM }), 1);
  assertEquals(builds, 1);
});
