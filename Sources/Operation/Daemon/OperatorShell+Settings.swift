import Bytes
import Observation
import ServerFiles
import Settings
import StatusCrypto

extension OperatorShell {
    /// Creates the shell for a running server, whose addresses are known once they are bound.
    init(_ settings: Settings, _ readiness: Readiness, publicKey: PublicKey) {
        self.init(
            configuration: settings.configurationFile, publicKey: Hex.encode(publicKey.compressed.bytes, prefix: "0x"),
            admin: readiness.adminAddress.map(Self.url),
            node: settings.transportKind == .waku ? settings.wakuURLs.first : readiness.relayAddress.map(Self.url),
            usesPostgreSQL: settings.storage.isPostgreSQL)
    }

    /// Returns a URL for an address on this machine. A program that listens on all addresses is reached on the loopback.
    private static func url(_ address: String) -> String {
        "http://" + address.replacing(/^(0\.0\.0\.0|\[::\]):/, with: "127.0.0.1:")
    }
}
