import * as z from "zod";
import { jsonBody, jsonResponse } from "../../v1/route.ts";
import { DETAIL_ERROR, errorsOf, operation, type PeerOperation } from "../operation.ts";
import {
  cellsRequest,
  cellsResult,
  programRequest,
  programResult,
  submitRequest,
  submitResult,
} from "./contract.ts";

const errors = errorsOf(DETAIL_ERROR, [400, 409, 422, 504]);
const RUN = { status: "Finished", execution_time: 0.003, return_code: 0, stdout: "42\n", stderr: "" };
const PROGRAM = {
  status: "Success",
  message: "",
  compile_result: null,
  run_result: RUN,
  executor_pod_name: null,
  files: {},
};
const CELLS = {
  status: "Success",
  message: "",
  driver: { ...RUN, stdout: "" },
  cells: [
    { stdout: "", stderr: "", display: [], error: [] },
    { stdout: "", stderr: "", display: [{ "text/plain": "42" }], error: [] },
  ],
  executor_pod_name: null,
  files: {},
};
const TEST = { input: { stdin: "6 7" }, output: { stdout: "42" } };
const SUBMISSION = {
  dataset: "sums",
  id: 1,
  completion: "```python\na, b = map(int, input().split())\nprint(a * b)\n```",
  config: { dataset_type: "CommonOJDataset", language: "python", provided_data: { test: [TEST] } },
};
const VERDICT = {
  id: 1,
  accepted: true,
  extracted_code: "a, b = map(int, input().split())\nprint(a * b)",
  full_code: null,
  test_code: null,
  tests: [{ passed: true, exec_info: PROGRAM, test_info: TEST }],
  extracted_type: null,
  extra: null,
};

/** The operations of SandboxFusion. */
export const SANDBOX_FUSION_OPERATIONS: readonly PeerOperation[] = [
  operation("get /v1/ping", {
    id: "pingSandboxFusion",
    summary: "Check that the server responds",
    responses: { 200: jsonResponse(z.literal("pong"), "Always `pong`", { example: "pong" }) },
  }),
  operation("post /run_code", {
    id: "runCode",
    summary: "Run a program as a process of its own",
    body: jsonBody(programRequest, { code: "print(6 * 7)", language: "python" }),
    responses: { 200: jsonResponse(programResult, "The result", { example: PROGRAM }), ...errors },
  }),
  operation("post /run_jupyter", {
    id: "runJupyter",
    summary: "Run cells, one after the other, in one interpreter",
    body: jsonBody(cellsRequest, { cells: ["answer = 6 * 7", "answer"] }),
    responses: { 200: jsonResponse(cellsResult, "The results of the cells", { example: CELLS }), ...errors },
  }),
  operation("get /list_datasets", {
    id: "listDatasets",
    summary: "List the data sets of the server: it has none",
    responses: { 200: jsonResponse(z.array(z.string()), "No data sets", { example: [] }) },
  }),
  operation("post /submit", {
    id: "submitCompletion",
    summary: "Run the program of a completion against the tests of the request",
    body: jsonBody(submitRequest, SUBMISSION),
    responses: {
      200: jsonResponse(submitResult, "The results of the tests", { example: VERDICT }),
      ...errors,
    },
  }),
];
