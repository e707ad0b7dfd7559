import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { served } from "../served.ts";

const tokens = ["a token of sixteen"];

Deno.test("/docs is a page whose scripts and styles come from this server alone", async () => {
  await using server = served({ tokens });
  const { status, headers, body } = await server.send("GET", "/docs");
  assertEquals(status, 200);
  const policy = headers.get("content-security-policy") ?? "";
  assertStringIncludes(policy, "default-src 'none'; script-src 'self';");
  assertStringIncludes(policy, "frame-ancestors 'none'");
  assertEquals(body.match(/<script(?! src="docs\/)/), null);
  assertEquals(body.match(/https?:/), null);
  const files = [...body.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, path]) => path);
  assertEquals(files.length, 3);
  for (const path of files) {
    const file = await server.send("GET", `/${path}`);
    assertEquals(file.status, 200, path);
    assertMatch(file.headers.get("content-type") ?? "", /^text\/(javascript|css); charset=utf-8$/);
    assertEquals(file.headers.get("x-content-type-options"), "nosniff");
  }
});

Deno.test("/docs needs no token, but the requests of its page do", async () => {
  await using server = served({ tokens });
  for (const path of ["/", "/docs", "/docs/start.js", "/openapi.json"]) {
    assert((await server.send("GET", path)).status < 400, path);
  }
  assertEquals((await server.send("GET", "/")).headers.get("location"), "/docs");
  assertEquals((await server.send("POST", "/v1/sessions", {})).status, 401);
  assertEquals((await server.send("POST", "/docs/start.js", {})).status, 401);
});

Deno.test("/docs has no other file than those of its page", async () => {
  await using server = served();
  for (
    const name of ["index.html", "..%2F..%2Fdeno.json", "__proto__", "constructor", "start.js%00"]
  ) {
    assertEquals((await server.send("GET", `/docs/${name}`)).status, 404, name);
  }
});

Deno.test("pages that clients without a token do not read take no memory of the tokens", async () => {
  await using server = served({ tokens });
  for (const [path, requests] of [["/docs/swagger-ui-bundle.js", 16], ["/openapi.json", 256]] as const) {
    const responses = [];
    for (let count = 0; count < requests; count++) responses.push(await server.app.request(path));
    assertEquals(new Set(responses.map(({ status }) => status)), new Set([200, 429]), path);
    const authorization = `Bearer ${tokens[0]}`;
    const { body } = await server.send("GET", "/metrics", undefined, { authorization });
    assertStringIncludes(body, "\npaddock_waiting_bytes 0\n");
    for (const { body } of responses) await body?.cancel();
    assertEquals((await server.send("GET", path)).status, 200);
  }
});
