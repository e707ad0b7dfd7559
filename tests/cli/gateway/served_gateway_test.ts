import { assertEquals, assertRejects } from "@std/assert";
import { withGateway } from "../../../src/cli/gateway/served_gateway.ts";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import type { RequestConnection } from "../../../src/server/http/context.ts";
import { FakeVllm } from "../../policy/fake_vllm.ts";
import { TempFolder } from "../../temp_folder.ts";
import { tinyTokenizer, tinyTokenizerFiles } from "../../tiny_tokenizer.ts";

const { tokenizer, config } = tinyTokenizerFiles();
const FILES = {
  "tokenizer.json": JSON.stringify(tokenizer),
  "tokenizer_config.json": JSON.stringify(config),
};
const address = { hostname: "127.0.0.1", name: "127.0.0.1", tokens: [] };
const connection = {
  disconnected: new AbortController().signal,
  address: "127.0.0.1",
  accept: () => {},
} satisfies RequestConnection;
const DOCUMENT = {
  openapi: "3.1.0",
  tags: [{ name: "mcp" }],
  paths: { "/mcp": {} },
  components: { schemas: {} },
};
const paddock = (request: Request) =>
  new URL(request.url).pathname === "/openapi.json" ? Response.json(DOCUMENT) : new Response("paddock");

Deno.test("withGateway() answers the paths of agents, and leaves the others to the server", async () => {
  await using folder = await TempFolder.of(FILES);
  await using model = new FakeVllm({ tokenizer: await tinyTokenizer(), sample: () => "hello<|im_end|>" });
  await using stack = new AsyncDisposableStack();
  const flags = { gatewayPolicy: `openai:${model.url}`, gatewayModel: "m", gatewayTokenizer: folder.path };
  const handler = await withGateway(paddock, flags, { address, stack });
  const send = async (path: string, body: object, key = "") => {
    const headers = { authorization: `Bearer ${key}`, host: "127.0.0.1" };
    const init = { method: "POST", body: JSON.stringify(body), headers };
    return await handler(new Request(`http://127.0.0.1${path}`, init), connection);
  };
  const { key } = await (await send("/v1/gateway/sessions", { task: { id: "t" } })).json();
  const body = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }] };
  const answered = await (await send("/v1/messages?beta=true", body, key)).json();
  const { content: [block] } = answered;
  assertEquals(block, { type: "text", text: "hello" });
  assertEquals(await (await send("/v1/sessions", {})).text(), "paddock");
  const { open, turns } = await (await handler(
    new Request("http://127.0.0.1/v1/gateway/stats", { headers: { host: "127.0.0.1" } }),
    connection,
  ))
    .json();
  assertEquals([open, turns], [1, 1]);
  const described = await handler(new Request("http://127.0.0.1/openapi.json"), connection);
  const { paths, tags } = await described.json();
  assertEquals(tags.map(({ name }: { name: string }) => name), ["mcp", "gateway"]);
  const wanted = ["/mcp", "/v1/messages", "/v1/gateway/sessions/{id}/fork"];
  assertEquals(wanted.filter((path) => !(path in paths)), []);
  assertEquals("/metrics" in paths, false, "the server describes its own");
});

Deno.test("withGateway() returns the server's handler without a model server, and refuses its options alone", async () => {
  await using stack = new AsyncDisposableStack();
  assertEquals(await withGateway(paddock, {}, { address, stack }), paddock);
  await assertRejects(
    () => withGateway(paddock, { gatewayModel: "m" }, { address, stack }),
    UsageError,
    "give --gateway-policy",
  );
});
