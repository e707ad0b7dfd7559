import { assertEquals } from "@std/assert";
import { z } from "zod";
import { execRequest } from "../../../src/sandbox/exec/exec_request.ts";
import { hostTool } from "../../../src/sandbox/host_tool.ts";
import { loadProfile } from "../../../src/sandbox/profile/profile.ts";

Deno.test("execRequest() converts the schema of a tool once", async () => {
  const parameters = z.object({ query: z.string() });
  let conversions = 0;
  parameters._zod.toJSONSchema = () => {
    conversions++;
    return { type: "object" };
  };
  const search = hostTool({ name: "search", description: "Searches", parameters, run: () => [] });
  const { limits } = await loadProfile("tools");

  const requests = [1, 2, 3].map(() => execRequest("search()", { tools: [search], inputs: [] }, limits));

  assertEquals(requests.map((bytes) => bytes.length), requests.map(() => requests[0]?.length ?? 0));
  assertEquals(conversions, 1);
});
