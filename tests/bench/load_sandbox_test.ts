import { assertEquals, assertRejects } from "@std/assert";
import { Connection } from "../../bench/connection.ts";
import { runLoad } from "../../bench/load.ts";
import { ownProgram, runCode } from "../../bench/run_code.ts";
import { Serving } from "../../bench/serving.ts";

Deno.test("runLoad() gets a response to every program when 64 connections share two sessions", async () => {
  await using serving = await Serving.start("--max-sessions", "2");
  const { times, errors } = await runLoad({
    url: serving.url,
    connections: 64,
    goOn: (sent) => sent < 128,
    ask: (connection, number) => runCode(connection, ownProgram(number)),
  });
  assertEquals(errors, []);
  assertEquals(times.length, 128);
});

Deno.test("runCode() rejects a response with the output of another program", async () => {
  let answer: object = {};
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json(answer),
  );
  const { code, stdout } = ownProgram(7);
  using connection = new Connection(`http://127.0.0.1:${server.addr.port}`);
  answer = { status: "Success", run_result: { stdout } };
  await runCode(connection, { code, stdout });
  for (const other of [ownProgram(8).stdout, ""]) {
    answer = { status: "Success", run_result: { stdout: other } };
    await assertRejects(() => runCode(connection, { code, stdout }), Error, "Cannot accept the response to");
  }
});
