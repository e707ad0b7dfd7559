import { attack } from "./attack.ts";

Deno.test("escape: reaching the host, its network, and other sessions", (t) => attack(t, "ABC"));
