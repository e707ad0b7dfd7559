import { parseProfile, type Profile } from "../../sandbox/profile.ts";
import type { CheckoutDomain } from "./checkout.ts";
import desk from "./guest/desk.py" with { type: "text" };
import standIns from "./guest/stand_ins.py" with { type: "text" };

/** The name under which a session imports the module that serves the domain. */
export const DESK = "tau_desk";

const MIB = 1024 * 1024;

/** How many interpreters of a domain share a process: they run the same code and are of one trust domain. */
const SESSIONS_PER_PROCESS = 16;

const SETTINGS = {
  description: "The tools and data of a tau-bench domain",
  limits: {
    timeoutMs: 10_000,
    memoryBytes: 256 * MIB,
    outputBytes: 64 * MIB,
    fileBytes: MIB,
    cpuSeconds: 120,
  },
  preimports: [
    "abc",
    "copy",
    "datetime",
    "enum",
    "gc",
    "hashlib",
    "importlib",
    "inspect",
    "io",
    "json",
    "marshal",
    "math",
    "os",
    "random",
    "re",
    "sys",
    "typing",
  ],
  sessionsPerProcess: SESSIONS_PER_PROCESS,
};

/** The profile whose base image has the domain imported and its data loaded. */
export function domainProfile({ packagePath, domain }: CheckoutDomain): Profile {
  const mounts = { "/checkout/tau_bench": packagePath };
  const profile = parseProfile(JSON.stringify({ ...SETTINGS, mounts }), { source: `tau-bench ${domain}` });
  const source = `${standIns}\n${desk}\nopen_domain(${JSON.stringify(domain)})\n`;
  return { ...profile, preload: { module: DESK, source } };
}
