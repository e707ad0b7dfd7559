// Runs behind layers with every permission of Deno, like guest code that has taken over its process. Prints the layers
// whose attack succeeded, as JSON.
import { confine } from "../../../src/sandbox/guest/supervisor/confine.ts";
import type { ConfinePlan } from "../../../src/sandbox/guest/supervisor/confine_plan.ts";

interface Plan {
  readonly confine?: ConfinePlan;
  readonly hostUid: number;
  readonly hostPid: number;
  readonly port: number;
  readonly secret: string;
  readonly ownSecret: string;
  readonly descriptor: number;
  readonly memoryKey: number;
  readonly hostNames: string;
}

const plan: Plan = JSON.parse(Deno.args[0] ?? "");
const status = succeeds(() => Deno.statSync("/proc/self/status"))
  ? Deno.readTextFileSync("/proc/self/status")
  : "";
const libc = Deno.dlopen("libc.so.6", {
  shmget: { parameters: ["i32", "usize", "i32"], result: "i32" },
  getuid: { parameters: [], result: "u32" },
});
if (plan.confine) confine(plan.confine);

function succeeds(attack: () => unknown): boolean {
  try {
    attack();
    return true;
  } catch {
    return false; // any refusal ends the attack
  }
}

/** Returns the namespace of the machine's names, if `/proc` is there to show it. */
function namesSpace(): string | undefined {
  return status === "" ? undefined : Deno.readLinkSync("/proc/self/ns/uts");
}

const attacks = {
  noNewPrivs: /^NoNewPrivs:\t0$/m.test(status),
  capabilities: /^CapBnd:\t0*[1-9a-f]/m.test(status),
  unprivilegedUser: succeeds(() => Deno.readTextFileSync(plan.ownSecret)),
  userNamespace: libc.symbols.getuid() === plan.hostUid,
  netNamespace: await Deno.connect({ port: plan.port }).then((connection) => {
    connection.close();
    return true;
  }, () => false),
  ipcNamespace: libc.symbols.shmget(plan.memoryKey, 1n, 0) >= 0,
  utsNamespace: namesSpace() === plan.hostNames,
  pidNamespace: succeeds(() => Deno.kill(plan.hostPid, "SIGCONT")),
  mountNamespace: succeeds(() => Deno.readTextFileSync(plan.secret)),
  descriptors: succeeds(() => Deno.readTextFileSync(`/proc/self/fd/${plan.descriptor}`)),
  seccomp: succeeds(() => new Deno.Command("/bin/true").outputSync()),
  landlock: succeeds(() => Deno.readTextFileSync(plan.secret)),
};
const reached = Object.entries(attacks).filter(([, done]) => done).map(([layer]) => layer);
await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(reached)));
Deno.exit();
