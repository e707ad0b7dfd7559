import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { CheckpointError } from "../../../src/errors.ts";
import { withSession } from "../shared_session.ts";
import { traceback, value } from "../started.ts";

const TIMEOUT_MS = 120_000;

/** Programs, and what CPython 3.14 on Linux prints for each. */
const PROGRAMS: Record<string, [program: string, stdout: string]> = {
  "a client and a server in threads exchange bytes, and see the end of the other": [
    `import socket, threading
server = socket.create_server(("127.0.0.1", 0))
def serve():
    connection, peer = server.accept()
    with connection:
        connection.sendall(connection.recv(100).upper())
        connection.shutdown(socket.SHUT_WR)
        print(connection.recv(10))
thread = threading.Thread(target=serve); thread.start()
with socket.create_connection(server.getsockname()) as client:
    print(client.getpeername() == server.getsockname(), client.gettimeout())
    client.sendall(b"hello")
    with client.makefile("rb") as file: print(file.read())
    client.send(b"bye")
thread.join(); server.close()
print(server.fileno(), client)`,
    "True None\nb'HELLO'\nb'bye'\n-1 <socket.socket [closed] fd=-1, family=2, type=1, proto=6>\n",
  ],
  "more bytes than the buffers hold arrive in order, in both directions": [
    `import socket, threading
one, other = socket.socketpair()
data = bytes(range(256)) * 8192
def echo():
    while piece := other.recv(50_000): other.sendall(piece)
    other.close()
thread = threading.Thread(target=echo); thread.start()
sender = threading.Thread(target=lambda: (one.sendall(data), one.shutdown(socket.SHUT_WR))); sender.start()
received = bytearray()
while piece := one.recv(65536): received += piece
thread.join(); sender.join(); print(received == data)`,
    "True\n",
  ],
  "errors have the names and numbers of Linux": [
    `import errno, os, socket
def fails(call):
    try: print("no error:", call())
    except OSError as error: print(type(error).__name__, errno.errorcode.get(error.errno), error.strerror)
s = socket.socket()
fails(lambda: s.connect(("127.0.0.1", 9)))
fails(lambda: s.recv(1))
fails(lambda: s.send(b"x"))
fails(lambda: s.accept())
fails(lambda: s.getpeername())
fails(lambda: s.shutdown(2))
fails(lambda: s.setsockopt(12345, 678, 1))
fails(lambda: s.bind(("192.0.2.1", 0)))
t = socket.create_server(("127.0.0.1", 0))
fails(lambda: s.bind(t.getsockname()))
t.setblocking(False); fails(t.accept)
t.settimeout(0.01); fails(t.accept)
fails(lambda: socket.socket(socket.AF_UNIX).connect("/tmp/none"))
fails(lambda: socket.socket(99)); fails(lambda: socket.socket(2, 1, 17)); fails(lambda: socket.socket(fileno=99999999))
fails(lambda: socket.socket(fileno=os.open("/tmp", os.O_RDONLY)))
n = socket.socket(); n.setblocking(False); fails(lambda: n.connect(("127.0.0.1", 9)))
print(errno.errorcode[n.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)], n.connect_ex(t.getsockname()) == errno.EINPROGRESS)`,
    `ConnectionRefusedError ECONNREFUSED Connection refused
OSError ENOTCONN Transport endpoint is not connected
BrokenPipeError EPIPE Broken pipe
OSError EINVAL Invalid argument
OSError ENOTCONN Transport endpoint is not connected
OSError ENOTCONN Transport endpoint is not connected
OSError ENOPROTOOPT Protocol not available
OSError EADDRNOTAVAIL Cannot assign requested address
OSError EADDRINUSE Address already in use
BlockingIOError EAGAIN Resource temporarily unavailable
TimeoutError None None
FileNotFoundError ENOENT No such file or directory
OSError EAFNOSUPPORT Address family not supported by protocol
OSError EPROTONOSUPPORT Protocol not supported
OSError EBADF Bad file descriptor
OSError ENOTSOCK Socket operation on non-socket
BlockingIOError EINPROGRESS Operation now in progress
ECONNREFUSED True
`,
  ],
  "datagrams keep their borders and the sender's address; what arrives nowhere is an error of a connected socket":
    [
      `import errno, socket
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    one, other = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
    one.bind((host, 0)); other.bind((host, 0))
    one.sendto(b"first", other.getsockname()); one.sendto(b"", other.getsockname())
    data, sender = other.recvfrom(3)
    print(data, sender == one.getsockname(), other.recvfrom(10)[0])
    one.connect(other.getsockname()); other.close(); one.send(b"x")
    try: one.send(b"y")
    except OSError as error: print(errno.errorcode[error.errno])
    one.close()
left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
left.send(b"unix"); print(right.recvfrom(9))`,
      "b'fir' True b''\nECONNREFUSED\nb'fir' True b''\nECONNREFUSED\n(b'unix', None)\n",
    ],
  "Unix sockets have a file, an abstract name, descriptors that travel, and the borders of messages": [
    `import array, os, socket, stat
server = socket.socket(socket.AF_UNIX); server.bind("/tmp/s"); server.listen()
print(stat.filemode(os.stat("/tmp/s").st_mode), server.getsockname())
client = socket.socket(socket.AF_UNIX); client.connect("/tmp/s"); accepted, name = server.accept()
print(repr(name), client.getpeername())
hidden = socket.socket(socket.AF_UNIX); hidden.bind("\\0x"); print(hidden.getsockname())
inner, outer = socket.socketpair()
socket.send_fds(client, [b"take"], [inner.fileno()]); inner.close()
data, fds, flags, _ = socket.recv_fds(accepted, 10, 2)
with socket.socket(fileno=fds[0]) as moved: moved.send(b"moved")
print(data, len(fds), flags, outer.recv(9), outer.recv(9))
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
a.send(b"one"); a.send(b"two"); print(b.recv(10), b.recv(10))
again = socket.socket(socket.AF_UNIX)
try: again.bind("/tmp/s")
except OSError as error: print(error)
server.close()
try: again.connect("/tmp/s")
except OSError as error: print(error)`,
    `srwxr-xr-x /tmp/s
'' /tmp/s
b'\\x00x'
b'take' 1 0 b'moved' b''
b'one' b'two'
[Errno 98] Address already in use
[Errno 111] Connection refused
`,
  ],
  "select, poll and selectors wait for sockets and pipes together; os.read, os.write and os.close take their descriptors":
    [
      `import os, select, selectors, socket, subprocess, sys, threading
a, b = socket.socketpair()
child = subprocess.Popen([sys.executable, "-c", "input(); print('out')"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
pipe = child.stdout.fileno()
print(select.select([b, pipe], [a], [], 0) == ([], [a], []))
threading.Thread(target=lambda: os.write(a.fileno(), b"bytes")).start()
print(select.select([b, pipe], [], [], 9) == ([b], [], []), os.read(b.fileno(), 9))
child.stdin.write(b"go\\n"); child.stdin.flush()
print(select.select([b, pipe], [], [])[0] == [pipe]); child.communicate()
poller = select.poll(); poller.register(b, select.POLLIN)
print(poller.poll(10)); os.close(a.detach())
print([(fd == b.fileno(), bool(mask & select.POLLHUP)) for fd, mask in poller.poll()])
with selectors.DefaultSelector() as chosen:
    chosen.register(b, selectors.EVENT_READ, "b"); print([(key.data, events) for key, events in chosen.select()])
read, write = os.pipe(); os.write(write, b"x")
print(select.select([b, read], [], [])[0] == [b, read], select.select([read], [], [], 0)[0] == [read])`,
      "True\nTrue b'bytes'\nTrue\n[]\n[(True, True)]\n[('b', 1)]\nTrue True\n",
    ],
  "epoll reports levels, edges and single events, also of epoll objects themselves": [
    `import errno, os, select, selectors, socket, threading
def fails(call):
    try: print("no error:", call())
    except (OSError, ValueError) as error: print(type(error).__name__, errno.errorcode.get(getattr(error, "errno", None)))
a, b = socket.socketpair()
with select.epoll() as ep:
    ep.register(b, select.EPOLLIN)
    fails(lambda: ep.register(b.fileno())); fails(lambda: ep.modify(a, 1)); fails(lambda: ep.unregister(99999)); fails(lambda: ep.register(ep.fileno()))
    print(ep.poll(0), ep.closed)
    threading.Thread(target=lambda: a.send(b"one")).start()
    print(ep.poll(9) == [(b.fileno(), select.EPOLLIN)], ep.poll(0) == [(b.fileno(), 1)])
    ep.modify(b, select.EPOLLIN | select.EPOLLET)
    print(len(ep.poll(0)), len(ep.poll(0))); a.send(b"two"); print(len(ep.poll(0)), len(ep.poll(0.01)))
    ep.modify(b, select.EPOLLIN | select.EPOLLONESHOT)
    print(len(ep.poll(0)), len(ep.poll(0))); ep.modify(b, select.EPOLLIN | select.EPOLLONESHOT); print(len(ep.poll(0)))
    ep.modify(b, select.EPOLLIN | select.EPOLLRDHUP); a.shutdown(socket.SHUT_WR)
    print([mask & select.EPOLLRDHUP for fd, mask in ep.poll()])
    with select.epoll.fromfd(os.dup(ep.fileno())) as other: print(other.poll(0) == ep.poll(0))
    outer = select.epoll(); outer.register(ep, select.EPOLLIN)
    print(outer.poll() == [(ep.fileno(), 1)], select.select([ep], [], [], 0) == ([ep], [], []))
    fails(lambda: ep.register(outer.fileno()))
    b.close(); print(ep.poll(0))
    with open("/tmp/file", "w") as file: fails(lambda: ep.register(file))
    fails(lambda: ep.poll(0, 0))
print(ep.closed); fails(lambda: ep.poll(0)); fails(lambda: select.epoll(0))
w, r = socket.socketpair(); w.setblocking(False); r.setblocking(False)
full = select.epoll(); full.register(w, select.EPOLLOUT | select.EPOLLET); print(len(full.poll(0)))
for call in (lambda: w.send(b"x" * 65536), lambda: r.recv(1 << 20)):
    try:
        while True: call()
    except BlockingIOError: pass
print(len(full.poll(1)), len(full.poll(0)), selectors.DefaultSelector is selectors.EpollSelector)
with selectors.DefaultSelector() as chosen:
    chosen.register(w, selectors.EVENT_READ | selectors.EVENT_WRITE, 5); r.send(b"y")
    print([(key.data, events) for key, events in chosen.select()])`,
    `FileExistsError EEXIST
FileNotFoundError ENOENT
OSError EBADF
OSError EINVAL
[] False
True True
1 0
1 0
1 0
1
[8192]
True
True True
OSError ELOOP
[]
PermissionError EPERM
ValueError None
True
ValueError None
ValueError None
1
1 0 True
[(5, 3)]
`,
  ],
  "names of the session resolve, and services have their ports": [
    `import socket
print(socket.getaddrinfo("localhost", "http", type=socket.SOCK_STREAM))
print(socket.getaddrinfo("::1", 80, proto=6)[0][4], socket.gethostbyname(socket.gethostname()), socket.gethostbyaddr("127.0.0.1"))
print(socket.getnameinfo(("127.0.0.1", 443), 0), socket.getnameinfo(("127.0.0.9", 1), 0), socket.getservbyport(25))
for call in (lambda: socket.getaddrinfo("x", 1, flags=socket.AI_NUMERICHOST), lambda: socket.getaddrinfo("localhost", "none")):
    try: call()
    except socket.gaierror as error: print(error)`,
    `[(<AddressFamily.AF_INET: 2>, <SocketKind.SOCK_STREAM: 1>, 6, '', ('127.0.0.1', 80)), (<AddressFamily.AF_INET6: 10>, <SocketKind.SOCK_STREAM: 1>, 6, '', ('::1', 80, 0, 0))]
('::1', 80, 0, 0) 127.0.0.1 ('localhost', [], ['127.0.0.1'])
('localhost', 'https') ('127.0.0.9', '1') smtp
[Errno -2] Name or service not known
[Errno -8] Servname not supported for ai_socktype
`,
  ],
  "child processes connect to their parent, and a forked one has its sockets": [
    `import multiprocessing, socket, subprocess, sys
from multiprocessing.connection import Client, Listener
code = "import socket, sys; s = socket.create_connection(('localhost', int(sys.argv[1]))); s.sendall(b'child'); print(s.recv(9))"
with socket.create_server(("localhost", 0)) as server:
    child = subprocess.Popen([sys.executable, "-c", code, str(server.getsockname()[1])])
    connection, _ = server.accept(); print(connection.recv(9)); connection.sendall(b"parent"); connection.close()
    print(child.wait())
    def work(): server.accept()[0].sendall(b"forked")
    process = multiprocessing.get_context("fork").Process(target=work); process.start()
    print(socket.create_connection(server.getsockname()).recv(9)); process.join()
def call(address):
    with Client(address, authkey=b"k") as client: client.send([1]); print(client.recv())
for address in (("localhost", 0), None):
    with Listener(address, authkey=b"k") as listener:
        process = multiprocessing.get_context("fork").Process(target=call, args=(listener.address,)); process.start()
        with listener.accept() as connection: print(connection.recv()); connection.send("reply")
        process.join()`,
    "b'child'\nb'parent'\n0\nb'forked'\n[1]\nreply\n[1]\nreply\n",
  ],
  "asyncio has streams, datagrams and the calls of sockets": [
    `import asyncio, socket
async def handle(reader, writer):
    writer.write((await reader.readline()).upper()); await writer.drain(); writer.close()
class Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport): self.transport = transport
    def datagram_received(self, data, address): self.transport.sendto(data[::-1], address)
class Client(asyncio.DatagramProtocol):
    def __init__(self): self.reply = asyncio.get_running_loop().create_future()
    def datagram_received(self, data, address): self.reply.set_result(data)
async def main():
    loop = asyncio.get_running_loop()
    for start, connect in (
        (lambda: asyncio.start_server(handle, "localhost", 0, family=socket.AF_INET), asyncio.open_connection),
        (lambda: asyncio.start_unix_server(handle, "/tmp/a"), asyncio.open_unix_connection),
    ):
        async with await start() as server:
            name = server.sockets[0].getsockname()
            reader, writer = await connect(*name if isinstance(name, tuple) else [name])
            writer.write(b"hello\\n"); print(await reader.read()); writer.close(); await writer.wait_closed()
    transport, _ = await loop.create_datagram_endpoint(Echo, ("127.0.0.1", 0))
    other, client = await loop.create_datagram_endpoint(Client, remote_addr=transport.get_extra_info("sockname"))
    other.sendto(b"abc"); print(await client.reply); transport.close(); other.close()
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as raw:
        listening.setblocking(False); raw.setblocking(False)
        (accepted, _), _ = await asyncio.gather(loop.sock_accept(listening), loop.sock_connect(raw, listening.getsockname()))
        await loop.sock_sendall(raw, b"raw"); print(await loop.sock_recv(accepted, 9)); accepted.close()
    try: await asyncio.wait_for(asyncio.open_connection("127.0.0.1", 9), 5)
    except ConnectionRefusedError as error: print(error)
asyncio.run(main())`,
    "b'HELLO\\n'\nb'HELLO\\n'\nb'cba'\nb'raw'\n[Errno 111] Connect call failed ('127.0.0.1', 9)\n",
  ],
  "servers and clients of the library work": [
    `import http.server, socketserver, threading, urllib.request, xmlrpc.client, xmlrpc.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *args): pass
def served(server):
    threading.Thread(target=server.serve_forever, args=(0.01,)).start()
    return server
with served(http.server.ThreadingHTTPServer(("localhost", 0), Handler)) as server:
    print(urllib.request.urlopen(f"http://localhost:{server.server_port}/x", b"posted").read()); server.shutdown()
with served(xmlrpc.server.SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False)) as server:
    server.register_function(pow)
    with xmlrpc.client.ServerProxy("http://127.0.0.1:%d" % server.server_address[1]) as proxy: print(proxy.pow(2, 9))
    server.shutdown()
class Unix(socketserver.StreamRequestHandler):
    def handle(self): self.wfile.write(self.rfile.readline()[::-1])
import socket
with served(socketserver.ThreadingUnixStreamServer("/tmp/u", Unix)) as server:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("/tmp/u"); client.sendall(b"abc\\n"); print(client.recv(9))
    server.shutdown()`,
    "b'posted'\n512\nb'\\ncba'\n",
  ],
};

Deno.test("sockets: programs of one session reach each other", async (t) => {
  await withSession(async (session) => {
    for (const [name, [program, stdout]] of Object.entries(PROGRAMS)) {
      await t.step(name, async () => {
        await session.reset({ mode: "rewind" });
        const result = await session.exec(program, { timeoutMs: TIMEOUT_MS });
        assertEquals(
          [result.status, result.stdout, result.denied],
          ["ok", stdout, undefined],
          JSON.stringify(result),
        );
      });
    }
  });
});

Deno.test("sockets: what would leave the session is denied, in each call with an address", async () => {
  const calls = [
    "socket.socket().connect(('192.0.2.1', 80))",
    "socket.create_connection(('192.0.2.1', 80))",
    "socket.socket(socket.AF_INET6).connect(('2001:db8::1', 80))",
    "socket.socket(type=socket.SOCK_DGRAM).connect(('192.0.2.1', 80))",
    "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
    "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('<broadcast>', 53))",
    "socket.socket(type=socket.SOCK_RAW)",
    "socket.socket().connect(('2130706434.example', 80))",
    "socket.getaddrinfo('example.com', 80)",
    "socket.gethostbyname('example.com')",
  ];
  await withSession(async (session) => {
    for (const call of calls) {
      const result = await session.exec(`import socket\n${call}`);
      assertEquals([call, result.denied], [call, { network: 1 }]);
      assertStringIncludes(traceback(result), "the sandbox has no network");
    }
    const decimal = await session.exec("import socket\nsocket.create_connection(('2130706433', 9))"); // 127.0.0.1
    assertEquals(decimal.denied, undefined);
    assertEquals(
      traceback(decimal).trimEnd().split("\n").at(-1),
      "ConnectionRefusedError: [Errno 111] Connection refused",
    );
  });
});

Deno.test("sockets: a rewind closes all and frees their ports; a checkpoint waits until they are closed", async () => {
  await withSession(async (session) => {
    const bind = "import socket; server = socket.create_server(('127.0.0.1', 8000)); server.getsockname()[1]";
    assertEquals(value(await session.exec(bind)), "8000");
    const error = await assertRejects(() => session.checkpoint(), CheckpointError);
    assertStringIncludes(error.message, "a socket is open");
    await session.reset({ mode: "rewind" });
    assertEquals(value(await session.exec(bind)), "8000");
    value(await session.exec("server.close()"));
    const checkpoint = await session.checkpoint();
    value(await session.exec(bind));
    await session.restore(checkpoint);
    assertEquals(value(await session.exec(`print(server.fileno()); ${bind}`)), "8000");
  });
});

Deno.test("sockets: their modules are not in memory before a program uses a socket, and nothing tells the difference", async () => {
  await withSession(async (session) => {
    const executed = `import asyncio, select, selectors, socket, ssl, sys
from paddock import _pipes
assert hasattr(socket, "AF_UNIX") and hasattr(select, "epoll") and hasattr(asyncio, "start_unix_server")
names = _pipes.__builtins__
def executed(): return {name for name in names["_late_modules"].NAMES if type(names["_" + name]) is type(sys)}
sorted(executed())`;
    assertEquals(value(await session.exec(executed)), "[]");
    assertEquals(value(await session.exec("asyncio.run(asyncio.sleep(0)); sorted(executed())")), "[]");
    const listed =
      `def listed(): return {kind: sorted({*dir(kind)} - {"__del__"}) for kind in (socket.socket, select.epoll)}
before = listed()
hasattr(socket.socket, "sendmsg"), hasattr(socket.socket, "share"), "socket_type" in executed()`;
    assertEquals(value(await session.exec(listed)), "(True, False, True)");
    assertEquals(value(await session.exec("select.epoll().close(); listed() == before")), "True");
    const rest =
      `socket.getaddrinfo("localhost", 80); socket.CMSG_LEN(1); select.select(socket.socketpair(), [], [], 0)
sorted({*names["_late_modules"].NAMES} - executed())`;
    assertEquals(value(await session.exec(rest)), "['handshake', 'outside', 'tls']"); // for hosts that a profile lists
  });
});

Deno.test("sockets: what is on its way is bounded, and a wait that cannot end is an error", async () => {
  await withSession(async (session) => {
    const code = String.raw`import socket
def fill(end, piece):
    end.setblocking(False); sent = 0
    try:
        while True: sent += end.send(piece) or 1
    except BlockingIOError: return sent
pairs = [socket.socketpair(type=kind) for kind in (1, 2, 5)]
[fill(one, piece) < 2**20 for one, _ in pairs for piece in (b"x" * 1000, b"x")]`;
    assertEquals(value(await session.exec(code)), "[True, True, True, True, True, True]");
    const alone = "s = socket.create_server(('127.0.0.1', 0)); s.accept()";
    assertStringIncludes(traceback(await session.exec(alone)), "MainThread waits for a connection to accept");
  });
});
