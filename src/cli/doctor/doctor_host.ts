/** A setting of the host on which sandboxes depend, and that Paddock does not change. */
export interface HostSetting {
  readonly name: "SMT" | "KSM" | "swap";
  /** True if the feature is on; `null` if the host does not show the state. */
  readonly isOn: boolean | null;
  /** State as text. */
  readonly seen: string;
  /** Meaning for sandboxes, and how the feature is turned off. */
  readonly advice: string;
}

/** Reads a file of the host. */
export type ReadHostFile = (path: string) => Promise<string>;

const KIB = 1024;

/** Returns the settings of a host with Linux. `read` is a parameter for hosts with other settings. */
export async function inspectHost(read: ReadHostFile = Deno.readTextFile): Promise<HostSetting[]> {
  const found = await Promise.all([
    readState(read, "/sys/devices/system/cpu/smt/active", describeSmt),
    readState(read, "/sys/kernel/mm/ksm/run", describeKsm),
    readState(read, "/proc/swaps", describeSwap),
  ]);
  const names = ["SMT", "KSM", "swap"] as const;
  return names.map((name, at) => ({ name, ...found[at] ?? UNKNOWN, advice: ADVICE[name] }));
}

const ADVICE: Readonly<Record<HostSetting["name"], string>> = {
  SMT: "programs on two threads of a core can time each other; for tenants that do not trust each other: " +
    "boot with nosmt, or give each tenant cores of its own",
  KSM: "the time of a write tells whether another process has the same page: echo 2 > /sys/kernel/mm/ksm/run",
  swap:
    "memory of sandboxes may reach a disk, and sandboxes are slow when it does: swapoff -a, or encrypt swap",
};

type State = Pick<HostSetting, "isOn" | "seen">;

const UNKNOWN: State = { isOn: null, seen: "the host does not show it" };

async function readState(
  read: ReadHostFile,
  path: string,
  describe: (text: string) => State,
): Promise<State> {
  try {
    return describe((await read(path)).trim());
  } catch {
    return UNKNOWN; // another system, a kernel without the file, or a container that hides the file
  }
}

function describeSmt(active: string): State {
  if (active !== "0" && active !== "1") return UNKNOWN;
  return active === "1"
    ? { isOn: true, seen: "on: cores run two threads" }
    : { isOn: false, seen: "off, or the processor has none" };
}

function describeKsm(run: string): State {
  if (!["0", "1", "2"].includes(run)) return UNKNOWN;
  if (run === "1") {
    return { isOn: true, seen: "on: the kernel merges equal pages of programs that ask for it" };
  }
  return { isOn: false, seen: run === "2" ? "off: merged pages are separated" : "off" };
}

/** Reads `/proc/swaps`: a line of names, then a line for each area with the size in KiB. */
function describeSwap(swaps: string): State {
  const [head = "", ...areas] = swaps.split("\n");
  if (!head.startsWith("Filename")) return UNKNOWN;
  if (areas.length === 0) return { isOn: false, seen: "none" };
  const kib = areas.reduce((sum, area) => sum + (Number(area.split(/\s+/)[2]) || 0), 0);
  return { isOn: true, seen: `on: ${(kib / KIB / KIB).toFixed(1)} GiB` };
}
