import { createRoute } from "@hono/zod-openapi";
import * as z from "zod";
import { PADDOCK_VERSION } from "../../version.ts";
import { V1_FORMAT } from "../../wire/v1.ts";
import { formatProcessMetrics, type Metrics } from "../metrics.ts";
import type { Peer } from "../peers/peer.ts";
import { type Api, jsonResponse } from "../v1/route.ts";
import { addDocsRoutes } from "./docs_page.ts";
import { addComponents, makeDocument } from "./document.ts";

const tags = ["server"];

const health = createRoute({
  operationId: "getHealth",
  method: "get",
  path: "/v1/health",
  tags,
  summary: "Check that the server responds",
  responses: {
    200: jsonResponse(
      z.object({ status: z.literal("ok"), version: z.string(), format: z.int() }).meta({ id: "Health" }),
      "The version of the server and of the JSON of /v1",
      { example: { status: "ok", version: PADDOCK_VERSION, format: V1_FORMAT } },
    ),
  },
});

const metricsText = createRoute({
  operationId: "getMetrics",
  method: "get",
  path: "/metrics",
  tags,
  summary: "Get the metrics of your token, or of all with the operator's token",
  responses: {
    200: {
      description: "The metrics in the text format of Prometheus",
      content: {
        "text/plain": { schema: z.string(), example: "# TYPE paddock_sessions gauge\npaddock_sessions 0\n" },
      },
    },
  },
});

const openApi = createRoute({
  operationId: "getOpenApiDocument",
  method: "get",
  path: "/openapi.json",
  tags,
  summary: "Get this document",
  responses: {
    200: jsonResponse(
      z.looseObject({ openapi: z.string() }).meta({ id: "OpenApiDocument" }),
      "The document",
      {
        example: { openapi: "3.1.0" },
      },
    ),
  },
});

/** Options of {@linkcode addAboutRoutes}. */
export interface AboutOptions {
  readonly metrics: Metrics;
  /** Number of tokens; without any, requests need none. */
  readonly tokens: number;
  /** Returns further metrics in the text format of Prometheus, which show what all tokens do. */
  readonly formatClusterMetrics?: (() => string) | undefined;
  /** Groups of the peers' operations. */
  readonly groups: readonly Pick<Peer, "name" | "description">[];
}

/** Adds the routes about the server itself: health, metrics and the description of the API. */
export function addAboutRoutes(
  app: Api,
  { metrics, tokens, formatClusterMetrics = () => "", groups }: AboutOptions,
): void {
  addComponents(app);
  addDocsRoutes(app);
  app.openapi(
    health,
    (c) => c.json({ status: "ok" as const, version: PADDOCK_VERSION, format: V1_FORMAT }, 200),
  );
  app.openapi(metricsText, (c) => {
    const isOperator = c.get("isOperator");
    const text = metrics.format(isOperator ? undefined : c.get("owner"));
    const isAlone = isOperator || tokens <= 1; // otherwise the process shows what other tokens do
    return c.text(isAlone ? text + formatProcessMetrics() + formatClusterMetrics() : text, 200, {
      "content-type": "text/plain; version=0.0.4",
    });
  });
  let document: string | undefined; // it takes up to 200 ms to make on a busy machine: too long for each request
  app.openAPIRegistry.registerPath(openApi);
  app.get(openApi.path, (c) => {
    document ??= JSON.stringify(makeDocument(app, { hasTokens: tokens > 0, groups }));
    return c.body(document, 200, { "content-type": "application/json" });
  });
}
