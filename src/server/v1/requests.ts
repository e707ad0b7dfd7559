import { createRoute } from "@hono/zod-openapi";
import { z } from "zod";
import { MAX_REQUEST_ID_CHARACTERS } from "../../wire/limits.ts";
import type { IdempotencyCache } from "../same_answer.ts";
import { ServerError } from "../server_error.ts";
import { type Api, failures } from "./route.ts";

const cancel = createRoute({
  method: "delete",
  path: "/v1/requests/{id}",
  tags: ["requests"],
  summary: "Cancel your running request with this X-Request-ID",
  request: { params: z.object({ id: z.string().max(MAX_REQUEST_ID_CHARACTERS) }) },
  responses: { 204: { description: "The request is cancelled" }, ...failures },
});

/** Adds the route that cancels requests with an id, since these outlive their connections. */
export function addRequestRoutes(app: Api, requests: IdempotencyCache): void {
  app.openapi(cancel, (c) => {
    if (requests.cancel(c.get("owner"), c.req.valid("param").id)) return c.body(null, 204);
    throw new ServerError("not_found", "There is no such request");
  });
}
