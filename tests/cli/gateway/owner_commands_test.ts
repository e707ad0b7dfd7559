import { assertEquals, assertStringIncludes } from "@std/assert";
import { HttpServer } from "../../../src/server/http/http_server.ts";
import { TestGateway, TOKEN } from "../../gateway/open_gateway.ts";
import { runPaddock } from "../run_paddock.ts";

Deno.test("paddock gateway open, reward, rows, fork and the other commands of owners ask a gateway that runs", async () => {
  await using test = new TestGateway(() => "It is 5.");
  await using server = await HttpServer.listen(test.fetch, {
    hostname: "127.0.0.1",
    port: 0,
    onGraceOver: () => Promise.resolve(),
  });
  const url = `http://127.0.0.1:${server.port}`;
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runPaddock([
      "gateway",
      ...args,
      "--url",
      url,
      "--owner-token",
      TOKEN,
    ]);
    assertEquals([code, stderr], [0, ""], args.join(" "));
    return stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  };
  const [opened] = await run("open", '{"id": "sum", "answer": "5"}');
  assertEquals(opened.openaiUrl, `${url}/v1`);
  const body = { model: "m", messages: [{ role: "user", content: "a" }] };
  await (await test.send("/v1/chat/completions", body, { key: opened.key })).text();
  const [copy] = await run("fork", opened.id);
  assertEquals(await run("pause"), []);
  assertEquals(await run("resume", "--policy-version", "7"), []);
  const [ended] = await run("reward", opened.id, "--reward", "0.5");
  assertEquals([ended.status, ended.reward], ["completed", 0.5]);
  const [row] = await run("rows");
  assertEquals([row.task_id, row.reward], ["sum", 0.5]);
  assertEquals(await run("rows", opened.id), [row]);
  const [verl] = await run("rows", "--format", "verl");
  assertEquals(verl.reward_score, 0.5);
  assertEquals((await run("sessions")).map(({ id, status }) => [id, status]), [
    [opened.id, "completed"],
    [copy.id, "open"],
  ]);
  const [unscored] = await run("reward", copy.id, "--reward", "none");
  assertEquals([unscored.status, unscored.reward], ["completed", null]);
  assertEquals(await run("delete", copy.id), []);
  const fields = { sampling: { temperature: 0.25 }, tool_choice: "auto", idle_seconds: 60, sample: 3 };
  const [third] = await run("open", '{"id": "sum"}', "--session", JSON.stringify(fields));
  await (await test.send("/v1/chat/completions", body, { key: third.key })).text();
  assertEquals(test.model.sampled.at(-1)?.body.sampling_params.temperature, 0.25);
  assertEquals((await run("rows", third.id))[0].sample, 3);
  await run("delete", third.id);
  assertEquals((await run("stats"))[0].ended, 1);
  const refused = await runPaddock(["gateway", "reward", opened.id, "--url", url, "--owner-token", TOKEN]);
  assertEquals(refused.code, 2);
  assertStringIncludes(refused.stderr, "give one of --reward, --grader and --tests");
  const foreign = await runPaddock([
    "gateway",
    "sessions",
    "--url",
    url,
    "--owner-token",
    "another-token-01234",
  ]);
  assertEquals(foreign.code === 0, false);
  assertStringIncludes(foreign.stderr, "401");
});
