import { assertEquals } from "@std/assert";
import { clientTypes } from "../../scripts/client_types.ts";

Deno.test("paddock_client.d.ts is up to date", async () => {
  assertEquals(
    await Deno.readTextFile(new URL("../../src/client/paddock_client.d.ts", import.meta.url)),
    await clientTypes(),
    "run 'deno task client-types' after a change of the client's public types",
  );
});
