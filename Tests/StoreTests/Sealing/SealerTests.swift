import Bytes
import Envelope
import PushProtocol
import ServerCrypto
import StatusCrypto
import Store
import Testing

struct SealerTests {
    private static func sealer(_ ids: UInt8...) throws -> Sealer {
        let keys = try #require(SealingKeys(ids.map { ($0, SecretBytes(FixedBytes(repeating: $0))) }))
        return Sealer(keys, secret: FixedBytes(repeating: 9))
    }

    /// Locations of a value that differ in one part each.
    private static let places: [SealedPlace] = [
        .databaseSecret(of: identity, key: 1), .databaseSecret(of: identity, key: 2), .databaseSecret(of: FixedBytes(repeating: 3), key: 1),
        .registration(installation(1), version: 1), .registration(installation(1), version: 2),
        .registration(installation(2), version: 1), .registration(installation(1, key: 2), version: 1),
        .allowedKeys(of: installation(1), version: 1), .chatLists(of: installation(1), version: 1),
        .deadRegistration(of: hash(1), digest: hash(1)), .deadRegistration(of: hash(2), digest: hash(1)),
        .deadRegistration(of: hash(1), digest: hash(2)),
        .push(to: installation(1), deduplicationKey: hash(1)), .push(to: installation(2), deduplicationKey: hash(1)),
        .push(to: installation(1), deduplicationKey: hash(2)), .push(to: installation(1, key: 2), deduplicationKey: hash(1)),
        .reply(to: identity, message: 1), .reply(to: identity, message: 2), .reply(to: FixedBytes(repeating: 3), message: 1),
        .proxyDevice(hash(1)), .proxyDevice(hash(2)), .proxyDeviceCalls(hash(1)),
        .originKey(of: "alice"), .originKey(of: "bob"), .originPush(to: "alice", tokenID: 1), .originPush(to: "alice", tokenID: 2),
        .originPush(to: "bob", tokenID: 1),
    ]

    @Test func `a value does not open in another row, column or version`() throws {
        let sealer = try Self.sealer(1)
        for (index, place) in Self.places.enumerated() {
            let sealed = sealer.seal([[1, 2], nil, []], in: place)
            #expect(try sealer.open(sealed, count: 3, in: place) == [[1, 2], nil, []])
            for (other, otherPlace) in Self.places.enumerated() where other != index {
                #expect(throws: StoreError.damaged, "\(index) \(other)") { try sealer.open(sealed, count: 3, in: otherPlace) }
            }
        }
    }

    @Test(arguments: [0, 1, 3, 4]) func `a value with another number of fields is damaged`(count: Int) throws {
        let sealer = try Self.sealer(1)
        let sealed = sealer.seal([[1, 2], nil], in: Self.places[0])
        #expect(try sealer.open(sealed, count: 2, in: Self.places[0]) == [[1, 2], nil])
        #expect(throws: StoreError.damaged) { try sealer.open(sealed, count: count, in: Self.places[0]) }
    }

    @Test func `codes of device tokens depend on the database's secret and not on the sealing key`() throws {
        let token: DeviceToken = "0123456789abcdef token"
        #expect(try Self.sealer(1).code(of: token) == Self.sealer(2).code(of: token))
        #expect(try Self.sealer(1).code(of: token) != Self.sealer(1).code(of: "0123456789abcdef other" as DeviceToken))
        let keys = try Self.sealer(1).keys
        #expect(
            Sealer(keys, secret: FixedBytes(repeating: 1)).code(of: token) != Sealer(keys, secret: FixedBytes(repeating: 2)).code(of: token)
        )
        let digest: Digest32 = hash(1)
        #expect(try Self.sealer(1).code(of: digest) != digest)
    }
}
