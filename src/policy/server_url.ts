/**
 * The address of a server's endpoint: `base` where it ends in the endpoint already, else with it behind.
 *
 * @throws {TypeError} when it is no address of http or https, or holds a password.
 */
export function serverUrl(base: string | URL, endpoint: string, options: { root?: string } = {}): URL {
  const { root = "" } = options;
  const url = URL.parse(base);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(
      `Cannot ask a server as 'url' must be an address of http or https: current value is ${base}`,
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("Cannot ask a server as 'url' must hold no password: it does; give it as the key");
  }
  const path = url.pathname.replace(/\/+$/, "");
  url.pathname = path.endsWith(endpoint) ? path : `${path || root}${endpoint}`;
  return url;
}
