import { assertEquals, assertStringIncludes } from "@std/assert";
import { served } from "../served.ts";

const ORIGIN = "https://app.example.org";
const tokens = ["a-token-of-sixteen"];
const authorization = `Bearer ${tokens[0]}`;
const preflight = { origin: ORIGIN, "access-control-request-method": "POST" };

Deno.test("a server answers the preflight of an allowed origin without a token", async () => {
  await using server = served({ tokens, corsOrigins: ["https://other.example.org", ORIGIN] });
  const { status, headers } = await server.send("OPTIONS", "/v1/sessions", undefined, preflight);
  assertEquals(status, 204);
  assertEquals(headers.get("access-control-allow-origin"), ORIGIN);
  assertEquals(headers.get("access-control-allow-methods"), "GET,POST,DELETE");
  assertStringIncludes(headers.get("access-control-allow-headers") ?? "", "Authorization");
  assertEquals(headers.get("access-control-max-age"), "600");
  assertStringIncludes(headers.get("vary") ?? "", "Origin");
  assertEquals(headers.has("access-control-allow-credentials"), false);
});

Deno.test("pages of an allowed origin read responses and errors, with a token", async () => {
  await using server = served({ tokens, corsOrigins: [ORIGIN] });
  const good = await server.send("POST", "/v1/sessions", {}, { origin: ORIGIN, authorization });
  const noToken = await server.send("POST", "/v1/sessions", {}, { origin: ORIGIN });
  const invalid = await server.send("POST", "/v1/sessions", "{", { origin: ORIGIN, authorization });
  assertEquals([good.status, noToken.status, invalid.status], [201, 401, 400]);
  for (const { headers } of [good, noToken, invalid]) {
    assertEquals(headers.get("access-control-allow-origin"), ORIGIN);
    assertStringIncludes(headers.get("access-control-expose-headers") ?? "", "x-paddock-format");
    assertStringIncludes(headers.get("vary") ?? "", "Origin");
  }
});

Deno.test("a server refuses each origin that is not the same text as an allowed one", async () => {
  await using server = served({ corsOrigins: [ORIGIN] });
  for (
    const origin of [
      "http://app.example.org",
      "https://app.example.org:8443",
      "https://APP.example.org",
      "https://app.example.org.evil.example",
      "https://evil.example",
      "null",
    ]
  ) {
    const refused = await server.send("POST", "/v1/sessions", {}, { origin });
    assertEquals([refused.status, refused.headers.get("access-control-allow-origin")], [403, null], origin);
    assertStringIncludes(refused.headers.get("vary") ?? "", "Origin");
    const { status, headers } = await server.send("OPTIONS", "/v1/sessions", undefined, {
      ...preflight,
      origin,
    });
    assertEquals([status, headers.get("access-control-allow-origin")], [403, null], origin);
  }
});

Deno.test("a server with the origin * accepts every origin, and never allows credentials", async () => {
  await using server = served({ tokens, corsOrigins: ["*"] });
  const headers = { origin: "https://any.example", authorization };
  const response = await server.send("GET", "/v1/sessions", undefined, headers);
  assertEquals([response.status, response.headers.get("access-control-allow-origin")], [200, "*"]);
  assertEquals(response.headers.has("access-control-allow-credentials"), false);
  assertEquals((await server.send("OPTIONS", "/v1/sessions", undefined, preflight)).status, 204);
});

Deno.test("a server without allowed origins refuses preflights and sends no CORS headers", async () => {
  await using server = served();
  const { status, headers } = await server.send("OPTIONS", "/v1/sessions", undefined, preflight);
  assertEquals([status, headers.has("access-control-allow-origin"), headers.has("vary")], [
    403,
    false,
    false,
  ]);
  const plain = await server.send("OPTIONS", "/v1/sessions");
  assertEquals([plain.status, plain.headers.get("allow")], [405, "GET, POST"]);
});
