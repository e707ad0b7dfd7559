import { assertEquals } from "@std/assert";
import type { ServerEvent } from "../../src/server/server_event.ts";
import { bad, ok } from "../fake_pool.ts";
import { served } from "./served.ts";

const TOKEN = "a-secret-token-of-one-owner";
const authorization = `Bearer ${TOKEN}`;

Deno.test("paddockApp() reports sessions, lost interpreters and refused requests without ids, tokens or paths", async () => {
  const events: ServerEvent[] = [];
  await using server = served({
    tokens: [TOKEN],
    queue: 0,
    maxSessions: 1,
    python: (code) => code === "crash" ? bad("crashed", { stateKept: false }) : ok(),
    onEvent: (event) => events.push(event),
  });
  const { body: { id } } = await server.send("POST", "/v1/sessions", {}, { authorization });
  await server.send("POST", `/v1/sessions/${id}/exec`, { code: "1" }, { authorization });
  await server.send("POST", `/v1/sessions/${id}/exec`, { code: "crash" }, { authorization });
  await server.send("GET", `/v1/sessions/${id}`, undefined, { authorization: "Bearer my-secret-guess" });
  await server.send("GET", "/v1/sessions/none", undefined, { authorization });
  await server.send("DELETE", `/v1/sessions/${id}`, undefined, { authorization });
  const session = id.slice(0, 8);
  assertEquals(
    events.map((event) => ({
      ...event,
      owner: event.owner.length,
      ...("seconds" in event && { seconds: 0 }),
    })),
    [
      { kind: "session opened", session, owner: 64 },
      { kind: "interpreter lost", session, owner: 64, status: "crashed" },
      { kind: "request refused", method: "GET", route: "/v1/sessions/{id}", code: "unauthorized", owner: 0 },
      { kind: "session ended", session, owner: 64, seconds: 0, programs: 2 },
    ],
  );
  assertEquals([id, TOKEN, "guess"].some((secret) => JSON.stringify(events).includes(secret)), false);
});
