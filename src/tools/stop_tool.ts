import { z } from "zod";
import { type Tool, tool } from "./tool.ts";

/** Makes a tool that ends the episode: it terminates, and `[stop] reason` is its last message. */
export function stopTool(): Tool {
  return tool({
    name: "stop",
    description: "Ends the conversation. Call it when the task is done or cannot be done.",
    parameters: z.object({ reason: z.string().default("").describe("Why the work is over.") }),
    endsEpisode: true,
    run: ({ reason }) => `[stop] ${reason}`.trimEnd(),
  });
}
