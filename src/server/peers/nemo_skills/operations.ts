import type { RouteConfig } from "@hono/zod-openapi";
import * as z from "zod";
import { e2bRequest } from "../e2b/code_interpreter.ts";
import { nemoRequest } from "./routes.ts";
import { jsonResponse } from "../../v1/route.ts";
import { DETAIL_ERROR, type ErrorFormat, errorsOf } from "../error_format.ts";

const tags = ["nemo-skills"];
const ERROR: ErrorFormat = {
  schema: z.object({ error: z.string() }).meta({ id: "NemoError" }),
  example: { error: "X-Session-ID header required for ipython sessions" },
};
/** Errors of `/execute`, which two systems use. */
const EXECUTE_ERROR: ErrorFormat = {
  schema: z.union([ERROR.schema, DETAIL_ERROR.schema]).meta({ id: "ExecuteError" }),
  example: ERROR.example,
  hasText: true,
};

const session = z.object({
  backend: z.string(),
  created: z.number().describe("seconds since 1970"),
  last_used: z.number().describe("seconds since 1970"),
  alive: z.boolean(),
}).meta({ id: "NemoSession" });

const executeResult = z.object({
  process_status: z.enum(["completed", "error", "timeout"]),
  stdout: z.string(),
  stderr: z.string(),
  new_session_created: z.boolean().optional(),
}).meta({ id: "NemoExecuteResult" });

const LINES = [
  { type: "number_of_executions", execution_count: 1 },
  { type: "stdout", text: "42\n", timestamp: "2026-01-31T09:00:00.000Z" },
  { type: "end_of_execution" },
];

/** Returns the operations of NeMo-Skills, and `/execute`, which E2B uses as well. */
export function nemoSkillsOperations(): RouteConfig[] {
  return [
    {
      operationId: "execute",
      method: "post",
      path: "/execute",
      tags: [...tags, "e2b"],
      summary: "Run code, for NeMo-Skills (generated_code) or E2B (code)",
      request: {
        headers: z.object({
          "X-Session-ID": z.string().optional().describe("name of a session of NeMo-Skills"),
        }),
        body: {
          required: true,
          content: {
            "application/json": {
              schema: z.union([
                nemoRequest.meta({ id: "NemoExecuteRequest" }),
                e2bRequest.meta({ id: "E2bExecuteRequest" }),
              ]),
              examples: {
                "nemo-skills": {
                  summary: "A program of NeMo-Skills",
                  value: { generated_code: "print(6 * 7)", language: "python" },
                },
                e2b: { summary: "A cell of E2B", value: { code: "print(6 * 7)" } },
              },
            },
          },
        },
      },
      responses: {
        200: {
          description: "The result for NeMo-Skills; lines of JSON, written as the program runs, for E2B",
          content: {
            "application/json": {
              schema: executeResult,
              example: { process_status: "completed", stdout: "42\n", stderr: "" },
            },
            "application/x-ndjson": {
              schema: z.string(),
              example: LINES.map((line) => `${JSON.stringify(line)}\n`).join(""),
            },
          },
        },
        ...errorsOf(EXECUTE_ERROR, [400, 404, 409, 422, 429, 504]),
      },
    },
    {
      operationId: "listNemoSessions",
      method: "get",
      path: "/sessions",
      tags,
      summary: "List the sessions of NeMo-Skills",
      responses: {
        200: jsonResponse(
          z.object({ sessions: z.record(z.string(), session), backend: z.string() }),
          "The sessions by name",
          { example: { sessions: {}, backend: "ipython" } },
        ),
        ...errorsOf(ERROR, []),
      },
    },
    {
      operationId: "deleteNemoSession",
      method: "delete",
      path: "/sessions/{name}",
      tags,
      summary: "End a session of NeMo-Skills",
      request: { params: z.object({ name: z.string() }) },
      responses: {
        200: jsonResponse(z.object({ message: z.string() }), "The session is ended", {
          example: { message: "IPython session main deleted successfully" },
        }),
        ...errorsOf(ERROR, [404, 409]),
      },
    },
  ];
}
