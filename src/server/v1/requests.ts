import { createRoute } from "@hono/zod-openapi";
import { z } from "zod";
import { MAX_REQUEST_ID_CHARACTERS } from "../../wire/limits.ts";
import type { SameAnswers } from "../same_answer.ts";
import { ServerError } from "../server_error.ts";
import { type Api, failures } from "./route.ts";

const cancel = createRoute({
  method: "delete",
  path: "/v1/requests/{id}",
  tags: ["requests"],
  summary: "Cut short your request that has this X-Request-ID and no answer yet",
  request: { params: z.object({ id: z.string().max(MAX_REQUEST_ID_CHARACTERS) }) },
  responses: { 204: { description: "It is cut short" }, ...failures },
});

/** Requests with ids of their own, which outlive their connections and so need another way to be stopped. */
export function requestRoutes(app: Api, requests: SameAnswers): void {
  app.openapi(cancel, (c) => {
    if (requests.cancel(c.get("owner"), c.req.valid("param").id)) return c.body(null, 204);
    throw new ServerError("not_found", "There is no such request");
  });
}
