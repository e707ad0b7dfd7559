import type { Entropy } from "../entropy.ts";
import type { VirtualClock } from "./virtual_clock.ts";

const FRACTION_BITS = 32;

/** Replaces `Date` by one that reads a virtual clock. Nothing in the realm can reach the clock of the host afterwards. */
export function replaceDate(clock: VirtualClock): void {
  const HostDate = Date;
  function VirtualDate(...parts: readonly unknown[]): Date | string {
    const given = parts.length === 0 ? [clock.readDateMs()] : parts;
    if (!new.target) return new HostDate(clock.readDateMs()).toString();
    return Reflect.construct(HostDate, given, new.target);
  }
  Object.assign(VirtualDate, { now: () => clock.readDateMs(), parse: HostDate.parse, UTC: HostDate.UTC });
  VirtualDate.prototype = HostDate.prototype;
  Reflect.defineProperty(HostDate.prototype, "constructor", { value: VirtualDate });
  Reflect.set(globalThis, "Date", VirtualDate);
}

/** Replaces `Math.random` by one whose numbers come from the session's seed. */
export function replaceRandom(entropy: Entropy): void {
  const bytes = new Uint32Array(1);
  Reflect.set(Math, "random", () => (entropy.fill(bytes)[0] ?? 0) / 2 ** FRACTION_BITS);
}
