import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { HttpServer } from "../../src/server/http/http_server.ts";
import { PYTHON } from "../examples/installed.ts";
import { TestGateway, TOKEN } from "./open_gateway.ts";

Deno.test({
  name: `paddock.gateway of Python opens, rewards and reads sessions, also with asyncio${PYTHON.note}`,
  ignore: PYTHON.missing,
  async fn() {
    await using test = new TestGateway(() => "It is 5.");
    await using server = await HttpServer.listen(test.fetch, {
      hostname: "127.0.0.1",
      port: 0,
      onGraceOver: () => Promise.resolve(),
    });
    const program = fileURLToPath(new URL("python_client.py", import.meta.url));
    const { stdout, stderr } = await new Deno.Command("python3", {
      args: ["-B", "-W", "error", program, `http://127.0.0.1:${server.port}`, TOKEN],
      env: { PYTHONPATH: fileURLToPath(new URL("../../packaging/python/", import.meta.url)) },
    }).output();
    const decoder = new TextDecoder();
    assertEquals([decoder.decode(stdout), decoder.decode(stderr)], ["the client is checked\n", ""]);
    assertEquals(test.rows.map(({ task_id, status }) => [task_id, status]), [
      ["sum", "aborted"],
      ["sum", "completed"],
      ["fails", "aborted"],
      ...Array(8).fill(["many", "completed"]),
      ["fails", "aborted"],
      ["last", "aborted"],
    ]);
  },
});
