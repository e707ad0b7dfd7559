// deno-lint-ignore-file no-console -- an example shows what it does
/** Serves graders over HTTP, with one of your own, and asks for three grades as a trainer would. */
import { gsm8k, patternMatch } from "@paddock/paddock";
import { loadProfile, SandboxPool } from "@paddock/paddock/sandbox";
import { PaddockServer } from "@paddock/paddock/server";

await using pool = new SandboxPool({ profile: await loadProfile("serve"), size: 1 });
const graders = new Map([
  ["gsm8k", () => gsm8k()],
  ["polite", () => patternMatch({ pattern: /\b(?:please|thank you)\b/i })],
]);
await using server = new PaddockServer({ pool, maxSessions: 1, graders });
await using http = Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen() {} },
  (request) => server.fetch(request),
);

for (
  const [grader, completion] of [
    ["gsm8k", "Six times seven is <answer>42</answer>"],
    ["gsm8k", "It is <answer>41</answer>"], // wrong, but in the right form
    ["polite", "Thank you for the question. It is 42."],
  ]
) {
  const response = await fetch(`http://127.0.0.1:${http.addr.port}/v1/grade`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ grader, completion, answer: "42" }),
  });
  console.log(grader, "→", (await response.json()).score);
}
