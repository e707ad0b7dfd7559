import { z } from "zod";
import { type Tool, tool } from "./tool.ts";

/** A tool by which the model says that it is done: the episode terminates, and `[stop] reason` is the last word. */
export function stopTool(): Tool {
  return tool({
    name: "stop",
    description: "Ends the conversation. Call it when the task is done or cannot be done.",
    parameters: z.object({ reason: z.string().default("").describe("Why the work is over.") }),
    endsEpisode: true,
    run: ({ reason }) => `[stop] ${reason}`.trimEnd(),
  });
}
