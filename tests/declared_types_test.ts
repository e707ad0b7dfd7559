import { assertEquals } from "@std/assert";
import * as huggingFace from "@huggingface/tokenizers";
import type * as declaredHuggingFace from "../src/chat/huggingface.d.ts";
import type * as declaredTemplate from "../src/chat/jinja/template.d.ts";
import * as template from "../src/chat/jinja/template.ts";
import type * as declaredParquet from "../src/datasets/parquet.d.ts";
import * as parquet from "../src/datasets/parquet.ts";
import type * as declaredReply from "../src/policy/openai_reply.d.ts";
import * as reply from "../src/policy/openai_reply.ts";
import type * as declaredInstructions from "../src/rewards/ifeval/instructions.d.ts";
import * as instructions from "../src/rewards/ifeval/instructions.ts";
import type * as declaredSameAnswer from "../src/rewards/math/same_answer.d.ts";
import * as sameAnswer from "../src/rewards/math/same_answer.ts";
import type * as declaredThread from "../src/rewards/worker/grader_thread.d.ts";
import * as thread from "../src/rewards/worker/grader_thread.ts";
import type * as declaredBaseImage from "../src/sandbox/image/base_image.d.ts";
import * as baseImage from "../src/sandbox/image/base_image.ts";
import type * as declaredMcpClient from "../src/tools/mcp/mcp_client.d.ts";
import * as mcpClient from "../src/tools/mcp/mcp_client.ts";
import type * as declaredSchema from "../src/tools/schema/checked_schema.d.ts";
import * as schema from "../src/tools/schema/checked_schema.ts";

/** Modules by the files that declare a part of them. The type checker compares each with its declaration. */
const DECLARED = {
  "chat/huggingface.d.ts": huggingFace satisfies typeof declaredHuggingFace,
  "chat/jinja/template.d.ts": template satisfies typeof declaredTemplate,
  "datasets/parquet.d.ts": parquet satisfies typeof declaredParquet,
  "policy/openai_reply.d.ts": reply satisfies typeof declaredReply,
  "rewards/ifeval/instructions.d.ts": instructions satisfies typeof declaredInstructions,
  "rewards/math/same_answer.d.ts": sameAnswer satisfies typeof declaredSameAnswer,
  "rewards/worker/grader_thread.d.ts": thread satisfies typeof declaredThread,
  "sandbox/image/base_image.d.ts": baseImage satisfies typeof declaredBaseImage,
  "tools/mcp/mcp_client.d.ts": mcpClient satisfies typeof declaredMcpClient,
  "tools/schema/checked_schema.d.ts": schema satisfies typeof declaredSchema,
};

for (const [path, module] of Object.entries(DECLARED)) {
  Deno.test(`${path} declares what its module exports`, async () => {
    const file = await Deno.readTextFile(new URL(`../src/${path}`, import.meta.url));
    const names = Array.from(
      file.matchAll(/^export (?:class|function|const) (\w+)/gm),
      ([, name = ""]) => name,
    );
    assertEquals(names.filter((name) => !(name in module)), []);
    assertEquals(names.length > 0, true);
  });
}
