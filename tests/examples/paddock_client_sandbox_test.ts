import { assertEquals } from "@std/assert";
import { Serving } from "../../bench/serving.ts";
import { PYTHON } from "./installed.ts";

const CLIENT = decodeURIComponent(new URL("../../examples/python/", import.meta.url).pathname);
const CHECKS = decodeURIComponent(new URL("paddock_client_checks.py", import.meta.url).pathname);
const LAST = "a response must be an object\n";

Deno.test({
  name: `examples/python/paddock_client.py drives a real server${PYTHON.note}`,
  ignore: PYTHON.missing,
  async fn() {
    const token = crypto.randomUUID();
    const serving = await Serving.start("--max-sessions", "3", "--queue", "0", "--token", token);
    const { success, stdout, stderr } = await new Deno.Command("python3", {
      args: ["-B", "-W", "error", CHECKS],
      env: { PADDOCK_URL: serving.url, PADDOCK_TOKEN: token, PYTHONPATH: CLIENT },
    }).output();
    const { log } = await serving.end("SIGTERM");
    const decoder = new TextDecoder();
    assertEquals({ success, stderr: decoder.decode(stderr), log }, { success: true, stderr: "", log: "" });
    assertEquals(decoder.decode(stdout).endsWith(LAST), true);
  },
});
