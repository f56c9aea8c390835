import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store

/// An owner, sender or attacker, with a key and installations.
struct Party: Hashable, Sendable {
    let key: PublicKey
    let keyHash: Digest64
    /// The topics of queries for this owner.
    let topics: QueryTopics

    static func == (left: Party, right: Party) -> Bool { left.keyHash == right.keyHash }
    func hash(into hasher: inout Hasher) { hasher.combine(keyHash) }

    private init(_ number: UInt8) {
        // Each small number is below the order of the curve.
        guard let key = try? PrivateKey(FixedBytes(repeating: number)).publicKey else { preconditionFailure("a number is a key") }
        self.key = key
        keyHash = key.hash
        topics = QueryTopics(plain: UInt32(number), prefixed: UInt32(number) << 8)
    }

    static let owners = (1...4).map { Party($0) }
    /// The client that pushes to owners and queries them.
    static let sender = Party(11)
    /// A client that knows all messages, but no other client's keys and access tokens.
    static let attacker = Party(12)
    static let server = Party(13)
    /// An attacker that registers installations without limit.
    static let hoarder = Party(14)

    func installation(_ number: Int) -> Installation { Installation(keyHash: keyHash, installationID: "phone \(number)") }
    /// Returns an installation that clients unregister, but never register.
    func ghost(_ number: Int) -> Installation { Installation(keyHash: keyHash, installationID: "ghost \(number)") }
}
