import addresses from "../guest/python/sockets/addresses.py" with { type: "text" };
import ancillary from "../guest/python/sockets/ancillary.py" with { type: "text" };
import checks from "../guest/python/sockets/checks.py" with { type: "text" };
import connections from "../guest/python/sockets/connections.py" with { type: "text" };
import endpoints from "../guest/python/sockets/endpoints.py" with { type: "text" };
import epoll from "../guest/python/sockets/epoll.py" with { type: "text" };
import handshake from "../guest/python/sockets/handshake.py" with { type: "text" };
import hosts from "../guest/python/sockets/hosts.py" with { type: "text" };
import messages from "../guest/python/sockets/messages.py" with { type: "text" };
import options from "../guest/python/sockets/options.py" with { type: "text" };
import outside from "../guest/python/sockets/outside.py" with { type: "text" };
import polling from "../guest/python/sockets/polling.py" with { type: "text" };
import socketData from "../guest/python/sockets/socket_data.py" with { type: "text" };
import socketType from "../guest/python/sockets/socket_type.py" with { type: "text" };
import streams from "../guest/python/sockets/streams.py" with { type: "text" };
import tls from "../guest/python/sockets/tls.py" with { type: "text" };

/**
 * Modules of the sandbox, by name, that a session executes when a program first uses them: files of the
 * library, which take no memory before. `late_modules.py` has the same names.
 */
export const LATE_MODULES: Readonly<Record<string, string>> = {
  addresses,
  ancillary,
  checks,
  connections,
  endpoints,
  epoll,
  handshake,
  hosts,
  messages,
  options,
  outside,
  polling,
  socket_data: socketData,
  socket_type: socketType,
  streams,
  tls,
};
