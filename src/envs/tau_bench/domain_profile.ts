import { parseProfile, type Profile } from "../../sandbox/profile/profile.ts";
import type { CheckoutDomain } from "./checkout.ts";
import domainSource from "./guest/desk.py" with { type: "text" };
import standInSource from "./guest/stand_ins.py" with { type: "text" };

/** Name of the Python module that runs the domain in a session. */
export const DOMAIN_MODULE = "tau_domain";

const MIB = 1024 * 1024;

/** Number of interpreters in one process. They run the same code and belong to one trust domain. */
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

/** Returns a profile whose base image has the domain imported and its data loaded. */
export function domainProfile({ packagePath, domain }: CheckoutDomain): Profile {
  const mounts = { "/checkout/tau_bench": packagePath };
  const profile = parseProfile(JSON.stringify({ ...SETTINGS, mounts }), { source: `tau-bench ${domain}` });
  const source = `${standInSource}\n${domainSource}\nopen_domain(${JSON.stringify(domain)})\n`;
  return { ...profile, preload: { module: DOMAIN_MODULE, source } };
}
