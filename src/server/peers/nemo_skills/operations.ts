import * as z from "zod";
import { jsonResponse } from "../../v1/route.ts";
import { e2bRequest } from "../e2b/contract.ts";
import { DETAIL_ERROR, type ErrorFormat, errorsOf, operation, type PeerOperation } from "../operation.ts";
import { nemoError, nemoRequest, nemoResult, sessionList } from "./contract.ts";

const ERROR: ErrorFormat = {
  schema: nemoError,
  example: { error: "X-Session-ID header required for ipython sessions" },
};
/** Errors of `/execute`, which two systems use. */
const EXECUTE_ERROR: ErrorFormat = {
  schema: z.union([ERROR.schema, DETAIL_ERROR.schema]).meta({ id: "ExecuteError" }),
  example: ERROR.example,
  hasText: true,
};
const LINES = [
  { type: "number_of_executions", execution_count: 1 },
  { type: "stdout", text: "42\n", timestamp: "2026-01-31T09:00:00.000Z" },
  { type: "end_of_execution" },
];
const REQUESTS = {
  required: true,
  content: {
    "application/json": {
      schema: z.union([nemoRequest, e2bRequest]),
      examples: {
        "nemo-skills": {
          summary: "A program of NeMo-Skills",
          value: { generated_code: "print(6 * 7)", language: "python" },
        },
        e2b: { summary: "A cell of E2B", value: { code: "print(6 * 7)" } },
      },
    },
  },
};
const RESULTS = {
  description: "The result for NeMo-Skills; lines of JSON, written as the program runs, for E2B",
  content: {
    "application/json": {
      schema: nemoResult,
      example: { process_status: "completed", stdout: "42\n", stderr: "" },
    },
    "application/x-ndjson": {
      schema: z.string(),
      example: LINES.map((line) => `${JSON.stringify(line)}\n`).join(""),
    },
  },
};

/** The operations of NeMo-Skills, and `/execute`, which E2B uses as well. */
export const NEMO_OPERATIONS: readonly PeerOperation[] = [
  operation("post /execute", {
    id: "execute",
    alsoIn: ["e2b"],
    summary: "Run code, for NeMo-Skills (generated_code) or E2B (code)",
    headers: z.object({
      "X-Session-ID": z.string().optional().describe("name of a session of NeMo-Skills"),
    }),
    body: REQUESTS,
    responses: { 200: RESULTS, ...errorsOf(EXECUTE_ERROR, [400, 404, 409, 422, 429, 504]) },
  }),
  operation("get /sessions", {
    id: "listNemoSessions",
    summary: "List the sessions of NeMo-Skills",
    responses: {
      200: jsonResponse(sessionList, "The sessions by name", {
        example: { sessions: {}, backend: "ipython" },
      }),
      ...errorsOf(ERROR, []),
    },
  }),
  operation("delete /sessions/{name}", {
    id: "deleteNemoSession",
    summary: "End a session of NeMo-Skills",
    params: z.object({ name: z.string() }),
    responses: {
      200: jsonResponse(z.object({ message: z.string() }), "The session is ended", {
        example: { message: "IPython session main deleted successfully" },
      }),
      ...errorsOf(ERROR, [404, 409]),
    },
  }),
];
