import type { OpenAPIHono } from "@hono/zod-openapi";
import * as z from "zod";

/**
 * Returns the schema of a part of a request, as the route is documented; `undefined` if there is none. `path` is the
 * route's, such as `/v1/sessions/{id}`, and `part` is named as validators name it: `json`, `query`, `param` or `header`.
 */
export function requestSchema(
  { definitions }: OpenAPIHono["openAPIRegistry"],
  { method, path, part }: { method: string; path: string; part: string },
): z.ZodType | undefined {
  for (const definition of definitions) {
    if (definition.type !== "route") continue;
    const { route } = definition;
    if (route.path !== path || route.method !== method.toLowerCase()) continue;
    const { body, query, params, headers } = route.request ?? {};
    const json = body?.content["application/json"];
    const parts = new Map<string, unknown>([
      ["json", json && "schema" in json ? json.schema : undefined],
      ["query", query],
      ["param", params],
      ["header", headers],
    ]);
    const schema = parts.get(part);
    return schema instanceof z.ZodType ? schema : undefined;
  }
  return undefined;
}
