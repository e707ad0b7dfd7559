import { attack } from "./attack.ts";

Deno.test("escape: forging results, exhausting resources, and files", (t) => attack(t, "DEF"));
