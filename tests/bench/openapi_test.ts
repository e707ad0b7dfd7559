import { assert, assertEquals } from "@std/assert";
import { callsOf, takesJson } from "../../bench/openapi/calls.ts";
import { TYPESCRIPT_CLIENTS } from "../../bench/openapi/typescript_clients.ts";
import { served } from "../server/served.ts";

Deno.test("callsOf() makes a call of every operation that takes JSON, with a body where one is required", async () => {
  await using server = served();
  const { body: document } = await server.send("GET", "/openapi.json");
  const operations = Object.values<Record<string, { operationId: string; requestBody?: object }>>(
    document.paths,
  )
    .flatMap((item) => Object.values(item));
  const calls = callsOf(document);
  assertEquals(
    calls.map(({ operationId }) => operationId).sort(),
    operations.filter(takesJson).map(({ operationId }) => operationId).sort(),
  );
  for (const { operationId, path, statuses, body, fixture, idName, pathParams } of calls) {
    assert(statuses.length > 0, operationId);
    const { requestBody } = operations.find((operation) => operation.operationId === operationId) ?? {};
    assertEquals(body !== undefined, requestBody !== undefined, operationId);
    if (!path.includes("{")) continue;
    assert(fixture !== undefined && idName !== undefined || Object.keys(pathParams).length > 0, operationId);
  }
});

Deno.test("the programs of the generated clients call each operation once", async () => {
  await using server = served();
  const { body: document } = await server.send("GET", "/openapi.json");
  const calls = callsOf(document);
  for (const { program } of TYPESCRIPT_CLIENTS) {
    const text = program(calls);
    for (const { operationId } of calls) {
      assertEquals(text.split(`operationId: "${operationId}"`).length, 2, operationId);
    }
  }
});
