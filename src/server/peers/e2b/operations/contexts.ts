import type { RouteConfig } from "@hono/zod-openapi";
import * as z from "zod";
import { contextRequest } from "../code_interpreter.ts";
import { batchRequest } from "../../open_r1/routes.ts";
import { nullOr } from "../../../../wire/schema.ts";
import { jsonBody, jsonResponse } from "../../../v1/route.ts";
import { DETAIL_ERROR, errorsOf } from "../../error_format.ts";

const tags = ["e2b"];
const ID = "0f8fad5bd9cb469fa16570867728950e";
/** Invalid bodies are reported as JSON, all else as text. */
const errors = errorsOf({ ...DETAIL_ERROR, hasText: true }, [400, 404, 409, 422, 429, 504]);

const context = z.object({ id: z.string(), language: z.string(), cwd: z.string() }).meta({
  id: "E2bContext",
});
const CONTEXT = { id: ID, language: "python", cwd: "/home/pyodide" };

/** Result of a program in E2B's format. */
const execution = z.object({
  results: z.array(z.looseObject({ text: z.string().optional(), is_main_result: z.boolean() })),
  logs: z.object({ stdout: z.array(z.string()), stderr: z.array(z.string()) }),
  error: z.object({ name: z.string(), value: z.string(), traceback: z.string() }).nullable(),
  execution_count: z.int(),
}).meta({ id: "E2bExecution" });

/** Returns the operations of E2B's contexts and of open-r1's router, which has E2B's results. */
export function e2bOperations(): RouteConfig[] {
  const params = z.object({ id: z.string() });
  return [
    {
      operationId: "createContext",
      method: "post",
      path: "/contexts",
      tags,
      summary: "Open a context of E2B",
      request: { body: jsonBody(contextRequest.meta({ id: "E2bContextRequest" }), { language: "python" }) },
      responses: { 200: jsonResponse(context, "The context", { example: CONTEXT }), ...errors },
    },
    {
      operationId: "listContexts",
      method: "get",
      path: "/contexts",
      tags,
      summary: "List the contexts of E2B",
      responses: { 200: jsonResponse(z.array(context), "The contexts", { example: [CONTEXT] }), ...errors },
    },
    {
      operationId: "restartContext",
      method: "post",
      path: "/contexts/{id}/restart",
      tags,
      summary: "Start a new interpreter for a context of E2B",
      request: { params },
      responses: { 200: jsonResponse(z.null(), "Done", { example: null }), ...errors },
    },
    {
      operationId: "deleteContext",
      method: "delete",
      path: "/contexts/{id}",
      tags,
      summary: "End a context of E2B",
      request: { params },
      responses: { 200: jsonResponse(z.null(), "Done", { example: null }), ...errors },
    },
    {
      operationId: "executeBatch",
      method: "post",
      path: "/execute_batch",
      tags: ["open-r1"],
      summary: "Run many programs, each in its own interpreter",
      request: {
        body: jsonBody(batchRequest.meta({ id: "OpenR1BatchRequest" }), {
          scripts: ["print(6 * 7)"],
          languages: ["python"],
        }),
      },
      responses: {
        200: jsonResponse(
          z.array(
            z.object({ execution: nullOr(execution), exception_str: z.string().nullable() })
              .meta({ id: "OpenR1ScriptResult" }),
          ),
          "One result per script, in order",
          {
            example: [{
              execution: {
                results: [],
                logs: { stdout: ["42\n"], stderr: [] },
                error: null,
                execution_count: 1,
              },
              exception_str: null,
            }],
          },
        ),
        ...errorsOf(DETAIL_ERROR, [422]),
      },
    },
  ];
}
