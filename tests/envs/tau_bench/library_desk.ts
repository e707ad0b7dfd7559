import { scriptedUser, TauBenchDomain, TauBenchEnv } from "../../../mod/tau_bench.ts";

/** The domain that comes with the examples. */
export const LIBRARY_DESK: string = decodeURIComponent(
  new URL("../../../examples/library_desk", import.meta.url).pathname,
);

/** The library's desk with room for two episodes at once. */
export function openLibrary(): Promise<TauBenchDomain> {
  return TauBenchDomain.open({ path: LIBRARY_DESK, domain: "library_desk", sessions: 2 });
}

/** An env whose user says these lines. */
export function openEnv(
  domain: TauBenchDomain,
  options: { split?: string; lines?: readonly string[]; toolTimeoutMs?: number } = {},
): Promise<TauBenchEnv> {
  const { split = "test", lines = ["Hello", "###STOP###"], toolTimeoutMs } = options;
  return TauBenchEnv.open({ domain, split, user: scriptedUser(lines), toolTimeoutMs });
}
