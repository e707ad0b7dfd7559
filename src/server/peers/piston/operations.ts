import type { RouteConfig } from "@hono/zod-openapi";
import * as z from "zod";
import { RUNTIME } from "./routes.ts";
import { jsonBody, jsonResponse } from "../../v1/route.ts";
import { type ErrorFormat, errorsOf } from "../error_format.ts";

const tags = ["piston"];
const ERROR: ErrorFormat = {
  schema: z.object({ message: z.string() }).meta({ id: "PistonError" }),
  example: { message: "files is required as an array" },
};

const limit = z.number().nullish().describe("ignored: the profile sets it");

const executeRequest = z.looseObject({
  language: z.string().min(1),
  version: z.string().min(1),
  files: z.array(z.looseObject({
    name: z.string().optional(),
    content: z.string(),
    encoding: z.string().optional().describe("utf8, base64 or hex"),
  })).min(1).describe("the first text file is the program"),
  stdin: z.string().nullish(),
  args: z.array(z.string()).nullish(),
  run_timeout: z.number().nullish().describe("milliseconds"),
  compile_timeout: limit,
  run_cpu_time: limit,
  compile_cpu_time: limit,
  run_memory_limit: limit,
  compile_memory_limit: limit,
}).meta({ id: "PistonExecuteRequest" });

const executeResult = z.object({
  language: z.string(),
  version: z.string(),
  run: z.object({
    stdout: z.string(),
    stderr: z.string(),
    output: z.string(),
    code: z.int().nullable(),
    signal: z.string().nullable().describe("SIGKILL, or null"),
    message: z.string().nullable(),
    status: z.string().nullable().describe("RE, SG, TO or null"),
    wall_time: z.number().describe("milliseconds"),
    cpu_time: z.null(),
    memory: z.null(),
  }),
}).meta({ id: "PistonExecuteResult" });

/** Returns the operations of Piston. */
export function pistonOperations(): RouteConfig[] {
  const { language, version, aliases } = RUNTIME;
  return [
    {
      operationId: "listRuntimes",
      method: "get",
      path: "/api/v2/runtimes",
      tags,
      summary: "List the runtimes of Piston: Python",
      responses: {
        200: jsonResponse(
          z.array(z.object({ language: z.string(), version: z.string(), aliases: z.array(z.string()) })),
          "The runtimes",
          { example: [{ language, version, aliases }] },
        ),
      },
    },
    {
      operationId: "executeFiles",
      method: "post",
      path: "/api/v2/execute",
      tags,
      summary: "Run a program as a process of its own",
      request: {
        body: jsonBody(executeRequest, { language, version: "3.x", files: [{ content: "print(6 * 7)" }] }),
      },
      responses: {
        200: jsonResponse(executeResult, "The result", {
          example: {
            language,
            version,
            run: {
              stdout: "42\n",
              stderr: "",
              output: "42\n",
              code: 0,
              signal: null,
              message: null,
              status: null,
              wall_time: 3,
              cpu_time: null,
              memory: null,
            },
          },
        }),
        ...errorsOf(ERROR, [400, 409, 415, 422, 429, 504]),
      },
    },
  ];
}
