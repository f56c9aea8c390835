import StatusCrypto

/// The installation that was created last, which clients without an installation id of the app's continue.
struct LastInstallation: Codable, Equatable, Sendable {
    let id: String
    /// The digest of the ``ClientState/deviceMark`` of the device that created it. Nil if it had none, as in states of versions up to
    /// 0.2.0.
    private(set) var markDigest: String?

    init(id: String, mark: String?) {
        self.id = id
        markDigest = mark.map(Self.digest)
    }

    /// Whether a backup of another device has brought the installation here.
    func isForeign(to mark: String?) -> Bool {
        guard let mark, let markDigest else { return false }
        return Self.digest(mark) != markDigest
    }

    /// The installation with the device's mark, if it had none.
    func marked(_ mark: String?) -> LastInstallation {
        var installation = self
        installation.markDigest = markDigest ?? mark.map(Self.digest)
        return installation
    }

    /// The app chose the text: its length is unknown, and it may be the device's name.
    private static func digest(_ mark: String) -> String { "\(SHA256.hash(Array(mark.utf8)))" }

    init(from decoder: any Decoder) throws {
        // Versions up to 0.2.0 saved the id alone.
        if let id = try? decoder.singleValueContainer().decode(String.self) {
            self.id = id
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        markDigest = try container.decodeIfPresent(String.self, forKey: .markDigest)
    }

    func encode(to encoder: any Encoder) throws {
        guard let markDigest else {
            var container = encoder.singleValueContainer()
            return try container.encode(id)
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(markDigest, forKey: .markDigest)
    }

    private enum CodingKeys: CodingKey {
        case id, markDigest
    }
}
