"""What connections with TLS share: the handshake, which the broker of the host makes, and what is known after it."""

import json
import ssl
import struct

HEAD_BYTES = 4
"""Size of the beginning of a result, and of the length that follows."""

_dumps, _loads = json.JSONEncoder().encode, json.JSONDecoder().decode


def require_possible(context, server_side, hostname):
    """Raises the error of a handshake that the broker does not make."""
    if server_side:
        raise error("the sandbox has no TLS for servers")
    if context.verify_mode == ssl.CERT_NONE:
        raise error("certificates are always checked in the sandbox: verify_mode must not be CERT_NONE")
    if getattr(context, "_certfile_data", None) is not None:
        raise error("the sandbox has no certificates of clients")
    if hostname is None:
        if context.check_hostname:
            raise ValueError("check_hostname requires server_hostname")
    elif not hostname or hostname.startswith("."):
        raise ValueError("server_hostname cannot be an empty string or start with a leading dot.")


def error(text):
    return ssl.SSLError(ssl.SSL_ERROR_SSL, f"[SSL] {text}")


def wants_read():
    return ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "The operation did not complete (read)")


def ended():
    return ssl.SSLEOFError(ssl.SSL_ERROR_EOF, "EOF occurred in violation of protocol")


class Handshake:
    """A handshake: the request, and its result as it arrives."""

    __slots__ = ("context", "hostname", "reply", "result", "is_sent")

    def __init__(self, context, hostname):
        self.context, self.hostname = context, hostname
        self.reply, self.result, self.is_sent = b"", None, False

    def request(self):
        name = self.hostname
        return _outside.HELLO + _dumps({"hostname": name and name.lower().removesuffix(".")}).encode()

    def missing(self):
        """Returns how many bytes of the result are known to be missing."""
        if len(self.reply) < HEAD_BYTES:
            return HEAD_BYTES - len(self.reply)
        return HEAD_BYTES + struct.unpack_from("<H", self.reply, HEAD_BYTES - 2)[0] - len(self.reply)

    def add(self, data):
        """Adds bytes of the result. Raises the error of a handshake that failed."""
        self.reply += data
        if len(self.reply) >= HEAD_BYTES and not self.reply.startswith(_outside.REPLY):
            raise error("wrong version number: the server is not one of the profile's network, or does not speak TLS")
        if self.missing():
            return
        result = _loads(self.reply[HEAD_BYTES:].decode())
        if "error" in result:
            raise refusal(result)
        self.result = result

    def require_done(self):
        if self.result is None:
            raise ValueError("handshake not done yet")

    def protocol(self):
        found = (self.result or {}).get("alpn")
        return found if found in getattr(self.context, "_alpn_protocols", ()) else None

    def certificate(self, binary_form):
        self.require_done()
        if binary_form:
            raise error("the bytes of a certificate are not known in the sandbox")
        name = self.result["host"]
        return {"subject": ((("commonName", name),),), "subjectAltName": (("DNS", name),)}


def refusal(result):
    if not result.get("isCertificate"):
        return error(result["error"])
    text = f"certificate verify failed: {result['error']}"
    failure = ssl.SSLCertVerificationError(ssl.SSL_ERROR_SSL, f"[SSL: CERTIFICATE_VERIFY_FAILED] {text}")
    failure.verify_code, failure.verify_message = 1, result["error"]
    return failure


class Secured:
    """What SSLObject and SSLSocket share."""

    @property
    def context(self):
        """The SSLContext that is currently in use."""
        return self._handshake.context

    @property
    def server_hostname(self):
        """The name of the server, None if there is none."""
        return self._handshake.hostname

    server_side = session_reused = False
    session = None

    def getpeercert(self, binary_form=False):
        """Returns the name for which the certificate was checked, in the form of a certificate."""
        return self._handshake.certificate(binary_form)

    def selected_alpn_protocol(self):
        """Return the currently selected ALPN protocol."""
        return self._handshake.protocol()

    def selected_npn_protocol(self):
        return None

    def cipher(self):
        """Returns None: the cipher is known to the broker only."""
        return None

    shared_ciphers = compression = cipher

    def version(self):
        """Returns "TLS" after the handshake: the version is known to the broker only."""
        return None if self._handshake.result is None else "TLS"

    def get_channel_binding(self, cb_type="tls-unique"):
        raise ValueError(f"{cb_type} channel binding type not implemented")

    def verify_client_post_handshake(self):
        raise error("the sandbox has no certificates of clients")
