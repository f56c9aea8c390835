import Bytes
import StatusCrypto
import Wire

/// A device as its owner registers it.
struct Device: Sendable {
    let platform: TokenType
    var installationID: String
    var accessToken: String
    var deviceToken: String

    init(on platform: TokenType, using random: inout SeededRandom.Generator) {
        self.platform = platform
        installationID = UniversallyUniqueID.random(using: &random)
        accessToken = UniversallyUniqueID.random(using: &random)
        deviceToken = platform == .apn ? Hex.encode(random.bytes(32)) : Self.firebaseToken(using: &random)
    }

    /// A token as Google issues it: 163 characters, with a colon, hyphens and underscores.
    private static func firebaseToken(using random: inout SeededRandom.Generator) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let characters = random.bytes(155).map { alphabet[Int($0) % alphabet.count] }
        return String(characters.prefix(19)) + "-_-:APA91b" + String(characters.dropFirst(21))
    }
}
