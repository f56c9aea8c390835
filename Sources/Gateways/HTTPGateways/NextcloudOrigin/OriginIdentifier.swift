import Bytes
import ServerCrypto
import StatusCrypto

/// A device's identifier at its proxy: the account and the app password, hashed and signed (GATEWAY_PROTOCOLS.md §1).
struct OriginIdentifier: Sendable, Equatable {
    private let preimage: [UInt8]

    /// - Parameter server: The origin's URL.
    init(user: String, server: String, tokenID: Int64) {
        // Nextcloud cuts off only this scheme. Others stay part of the cloud id.
        var host = server.hasPrefix("https://") ? server.dropFirst("https://".count) : server[...]
        while host.hasSuffix("/") { host.removeLast() }
        if host.hasSuffix("/index.php") { host.removeLast("/index.php".count) }
        preimage = Array("[\(PHPJSON.string("\(user)@\(host)")),\(tokenID)]".utf8)
    }

    var text: String { base64(SHA512.hash(preimage).bytes) }

    func signature(by key: RSAPrivateKey) -> String { base64(key.signature(of: preimage)) }
}
