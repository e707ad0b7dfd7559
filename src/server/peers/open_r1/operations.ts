import * as z from "zod";
import { jsonBody, jsonResponse } from "../../v1/route.ts";
import { DETAIL_ERROR, errorsOf, operation, type PeerOperation } from "../operation.ts";
import { batchRequest, scriptResult } from "./contract.ts";

const EXECUTION = { results: [], logs: { stdout: ["42\n"], stderr: [] }, error: null, execution_count: 1 };

/** The operations of open-r1's router. */
export const OPEN_R1_OPERATIONS: readonly PeerOperation[] = [
  operation("post /execute_batch", {
    id: "executeBatch",
    summary: "Run many programs, each in its own interpreter",
    body: jsonBody(batchRequest, { scripts: ["print(6 * 7)"], languages: ["python"] }),
    responses: {
      200: jsonResponse(z.array(scriptResult), "One result per script, in order", {
        example: [{ execution: EXECUTION, exception_str: null }],
      }),
      ...errorsOf(DETAIL_ERROR, [422]),
    },
  }),
];
