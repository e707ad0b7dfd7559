import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { HttpServer } from "../../src/server/http/http_server.ts";
import { PYTHON } from "../examples/installed.ts";
import { served } from "../server/served.ts";

Deno.test({
  name: `paddock.make_env of Python plays families by URL${PYTHON.note}`,
  ignore: PYTHON.missing,
  async fn() {
    await using server = served();
    await using http = await HttpServer.listen((request) => server.app.fetch(request), {
      hostname: "127.0.0.1",
      port: 0,
      onGraceOver: () => Promise.resolve(),
    });
    const program = fileURLToPath(new URL("python/make_env.py", import.meta.url));
    const { stdout, stderr } = await new Deno.Command("python3", {
      args: ["-B", "-W", "error", program, `http://127.0.0.1:${http.port}`],
      env: { PYTHONPATH: fileURLToPath(new URL("../../packaging/python/", import.meta.url)) },
    }).output();
    const decoder = new TextDecoder();
    assertEquals([decoder.decode(stdout), decoder.decode(stderr)], ["make_env is checked\n", ""]);
  },
});
