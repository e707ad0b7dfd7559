import type { JournalTurn, SessionOrigin } from "../state/session_journal.ts";
import { GatewaySession } from "./gateway_session.ts";
import type { GatewaySessionOptions } from "./session_options.ts";

/**
 * Returns the session that a restored copy continues, from the turns of the copy's journal.
 *
 * @throws {GatewayError} if the template cannot show the chat any more.
 */
export function restoreOrigin(
  { id, turns: count, origin }: SessionOrigin,
  { turns, options }: { turns: readonly JournalTurn[]; options: GatewaySessionOptions },
): GatewaySession {
  const earlier = origin && restoreOrigin(origin, { turns, options });
  const session = new GatewaySession({ ...options, id, onTurn: undefined }, earlier);
  for (const turn of turns.slice(origin?.turns ?? 0, count)) session.restore(turn);
  return session;
}
