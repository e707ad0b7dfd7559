import type {
  SandboxConnection,
  SandboxIdentity,
  SandboxInfo,
  SandboxMetric,
  SandboxState,
} from "./contract.ts";
import type { E2bSandbox } from "./sandboxes.ts";

/** Version of E2B's agent in sandboxes whose features Paddock has. Clients choose their requests by this version. */
const ENVD_VERSION = "0.6.4";
const CLIENT_ID = "paddock";
/** Time to the end that a sandbox states whose end is not known, in milliseconds. */
const UNBOUNDED_MS = 86_400_000;

/** Returns the data with which a client reaches a sandbox. The token opens the sandbox's agent and code interpreter. */
export function connectionBody(sandbox: E2bSandbox): SandboxConnection {
  const { accessToken } = sandbox;
  return {
    ...identityBody(sandbox),
    domain: null,
    envdAccessToken: accessToken,
    trafficAccessToken: accessToken,
  };
}

function identityBody({ id, templateId }: E2bSandbox): SandboxIdentity {
  return { sandboxID: id, templateID: templateId, clientID: CLIENT_ID, envdVersion: ENVD_VERSION };
}

/** Returns the metrics of a sandbox now. Memory and files are not measured. */
export function metricBody({ home, session: { createdAt, memoryBytes = 0 } }: E2bSandbox): SandboxMetric {
  const now = new Date();
  const lifeMs = Math.max(1, now.getTime() - createdAt.getTime());
  return {
    timestamp: now.toISOString(),
    timestampUnix: Math.floor(now.getTime() / 1000),
    cpuCount: 1,
    cpuUsedPct: Math.min(100, 100 * home.busyMs / lifeMs),
    memUsed: 0,
    memTotal: memoryBytes,
    memCache: 0,
    diskUsed: 0,
    diskTotal: 0,
  };
}

/** Returns the state of a sandbox. */
export function stateOf({ session }: E2bSandbox): SandboxState {
  return session.life.isPaused ? "paused" : "running";
}

/** Returns a sandbox in the form of lists. */
export function infoBody(sandbox: E2bSandbox): SandboxInfo {
  const { createdAt, life, metadata = {}, memoryBytes = 0 } = sandbox.session;
  const { expiresAt = new Date(Date.now() + UNBOUNDED_MS) } = life;
  return {
    ...identityBody(sandbox),
    startedAt: createdAt.toISOString(),
    endAt: expiresAt.toISOString(),
    state: stateOf(sandbox),
    cpuCount: 1,
    memoryMB: Math.round(memoryBytes / 1024 ** 2),
    diskSizeMB: 0, // the profile, which the server does not know, bounds the size of files
    metadata,
  };
}
