"""A certificate authority for one test: certificates for any name, trusted by nobody but the test."""

import datetime
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates; `folder` holds its files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority")])
        can_sign = x509.BasicConstraints(ca=True, path_length=None)
        may = dict.fromkeys(("digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
                             "key_agreement", "encipher_only", "decipher_only"), False)  # fmt: skip
        uses = x509.KeyUsage(key_cert_sign=True, crl_sign=True, **may)
        certificate = self._builder(self._name, self._key).add_extension(can_sign, critical=True)
        certificate = certificate.add_extension(uses, critical=True)
        self._root = certificate.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    @property
    def file(self) -> Path:
        """The file of its own certificate, for those who are to trust it."""
        file = self._folder / "authority.pem"
        file.write_bytes(self._root)
        return file

    def client_side(self) -> ssl.SSLContext:
        """Return what a client needs to trust this authority and no other."""
        return ssl.create_default_context(cadata=self._root.decode())

    def server_side(self, host: str, *protocols: str) -> ssl.SSLContext:
        """Return what a server needs to be the host."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        certificate = self._builder(name, key).add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), False)
        signed = certificate.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file = self._folder / f"{host}.pem"
        file.write_bytes(secret + signed)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(file)
        context.set_alpn_protocols(list(protocols) or ["http/1.1"])
        return context

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        day = datetime.timedelta(days=1)
        builder = x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
        # Python 3.13 refuses certificates that do not name the keys of their subject and of who signed them.
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(signer, critical=False)
        return builder.not_valid_before(now - day).not_valid_after(now + day)
