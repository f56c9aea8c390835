import Bytes
import Logging

/// A random text next to the admin token that tells this machine from others with the same `server.name`, such as a clone.
enum ServerPart {
    /// - Returns: The text, which a first start creates. Empty if the text cannot be kept.
    static func loadOrCreate(_ path: String, logger: Logger) -> String {
        let file = PrivateFile(path: path)
        do {
            if let part = try file.read(), !part.isEmpty { return PeerText(utf8: part).description }
            var random = SecureRandom()
            let part = Hex.encode(random.bytes(8))
            try file.makeFolder()
            try file.write(Array(part.utf8), replaces: true)
            return part
        } catch {
            logger.warning(
                "servers with this one's name would be taken for it, because its own mark cannot be kept",
                metadata: ["file": "\(file.path)", "error": "\(error)"])
            return ""
        }
    }
}
