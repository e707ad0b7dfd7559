import type { RouteConfig } from "@hono/zod-openapi";
import * as z from "zod";
import { cellsRequest, programRequest } from "./messages.ts";
import { submitRequest } from "./submit.ts";
import { nullOr } from "../../../wire/schema.ts";
import { jsonBody, jsonResponse } from "../../v1/route.ts";
import { DETAIL_ERROR, errorsOf } from "../error_format.ts";

const tags = ["sandboxfusion"];
const errors = errorsOf(DETAIL_ERROR, [400, 409, 422, 504]);

const status = z.enum(["Success", "Failed", "SandboxError"]);
const files = z.record(z.string(), z.string()).describe("contents in base64, by path");
const commandResult = z.object({
  status: z.enum(["Finished", "Error", "TimeLimitExceeded"]),
  execution_time: z.number().nullable().describe("seconds"),
  return_code: z.int().nullable(),
  stdout: z.string(),
  stderr: z.string(),
}).meta({ id: "FusionCommandResult" });

const programResult = z.object({
  status,
  message: z.string(),
  compile_result: z.null(),
  run_result: nullOr(commandResult),
  executor_pod_name: z.null(),
  files,
}).meta({ id: "FusionRunResult" });

const cellsResult = z.object({
  status,
  message: z.string(),
  driver: nullOr(commandResult),
  cells: z.array(
    z.object({
      stdout: z.string(),
      stderr: z.string(),
      display: z.array(z.record(z.string(), z.unknown())).describe("MIME bundles"),
      error: z.array(z.object({ ename: z.string(), evalue: z.string(), traceback: z.array(z.string()) })),
    }).meta({ id: "FusionCell" }),
  ),
  executor_pod_name: z.null(),
  files,
}).meta({ id: "FusionJupyterResult" });

const test = z.object({
  input: z.record(z.string(), z.string()),
  output: z.record(z.string(), z.string()),
});

const submitResult = z.object({
  id: z.union([z.string(), z.number()]),
  accepted: z.boolean(),
  extracted_code: z.string(),
  full_code: z.null(),
  test_code: z.null(),
  tests: z.array(z.object({ passed: z.boolean(), exec_info: programResult, test_info: test })),
  extracted_type: z.null(),
  extra: z.null(),
}).meta({ id: "FusionSubmitResult" });

const RUN = { status: "Finished", execution_time: 0.003, return_code: 0, stdout: "42\n", stderr: "" };
const PROGRAM = {
  status: "Success",
  message: "",
  compile_result: null,
  run_result: RUN,
  executor_pod_name: null,
  files: {},
};
const TEST = { input: { stdin: "6 7" }, output: { stdout: "42" } };

/** Returns the operations of SandboxFusion. */
export function sandboxFusionOperations(): RouteConfig[] {
  return [
    {
      operationId: "pingSandboxFusion",
      method: "get",
      path: "/v1/ping",
      tags,
      summary: "Check that the server responds",
      responses: { 200: jsonResponse(z.literal("pong"), "Always `pong`", { example: "pong" }) },
    },
    {
      operationId: "runCode",
      method: "post",
      path: "/run_code",
      tags,
      summary: "Run a program as a process of its own",
      request: {
        body: jsonBody(programRequest.meta({ id: "FusionRunRequest" }), {
          code: "print(6 * 7)",
          language: "python",
        }),
      },
      responses: { 200: jsonResponse(programResult, "The result", { example: PROGRAM }), ...errors },
    },
    {
      operationId: "runJupyter",
      method: "post",
      path: "/run_jupyter",
      tags,
      summary: "Run cells, one after the other, in one interpreter",
      request: {
        body: jsonBody(cellsRequest.meta({ id: "FusionJupyterRequest" }), {
          cells: ["answer = 6 * 7", "answer"],
        }),
      },
      responses: {
        200: jsonResponse(cellsResult, "The results of the cells", {
          example: {
            status: "Success",
            message: "",
            driver: { ...RUN, stdout: "" },
            cells: [
              { stdout: "", stderr: "", display: [], error: [] },
              { stdout: "", stderr: "", display: [{ "text/plain": "42" }], error: [] },
            ],
            executor_pod_name: null,
            files: {},
          },
        }),
        ...errors,
      },
    },
    {
      operationId: "listDatasets",
      method: "get",
      path: "/list_datasets",
      tags,
      summary: "List the data sets of the server: it has none",
      responses: { 200: jsonResponse(z.array(z.string()), "No data sets", { example: [] }) },
    },
    {
      operationId: "submitCompletion",
      method: "post",
      path: "/submit",
      tags,
      summary: "Run the program of a completion against the tests of the request",
      request: {
        body: jsonBody(submitRequest.meta({ id: "FusionSubmitRequest" }), {
          dataset: "sums",
          id: 1,
          completion: "```python\na, b = map(int, input().split())\nprint(a * b)\n```",
          config: {
            dataset_type: "CommonOJDataset",
            language: "python",
            provided_data: { test: [TEST] },
          },
        }),
      },
      responses: {
        200: jsonResponse(submitResult, "The results of the tests", {
          example: {
            id: 1,
            accepted: true,
            extracted_code: "a, b = map(int, input().split())\nprint(a * b)",
            full_code: null,
            test_code: null,
            tests: [{ passed: true, exec_info: PROGRAM, test_info: TEST }],
            extracted_type: null,
            extra: null,
          },
        }),
        ...errors,
      },
    },
  ];
}
