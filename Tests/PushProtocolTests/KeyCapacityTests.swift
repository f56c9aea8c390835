import Bytes
import Envelope
import StatusCrypto
import Testing
import Wire

@testable import PushProtocol

/// Which installations of a key make room for its newest registration.
@Suite struct KeyCapacityTests {
    private static func installation(_ number: Int) -> Installation {
        Installation(keyHash: Fixture.keyHash, installationID: "\(number)")
    }

    /// Returns installations, the oldest registration first.
    private static func others(_ count: Int, contacts: Int = 0, proven: Set<Int> = []) -> [Installation: LiveInstallation] {
        let numbers = (1...count).map { number in
            let version = StoredVersion(version: 1, plaintextDigest: Digest32(), isRegistered: true)
            let live = LiveInstallation(
                version: version, registeredAt: Timestamp(nanoseconds: Int64(number)), contactByteCount: contacts * 66,
                isProven: proven.contains(number))
            return (installation(number), live)
        }
        return Dictionary(uniqueKeysWithValues: numbers)
    }

    private static func registration(contacts: Int = 0) -> PushNotificationRegistration {
        Fixture.registration { $0.allowedKeyList = Array(repeating: [UInt8](repeating: 1, count: 64), count: contacts) }
    }

    private static func evicted(_ others: [Installation: LiveInstallation], contacts: Int = 0) -> [Int] {
        KeyCapacity.evicted(from: others, by: registration(contacts: contacts)).compactMap { Int($0.installationID) }
    }

    @Test func `a key has 64 live installations: never delivered to ones go first, then the oldest`() {
        #expect(Self.evicted(Self.others(63)).isEmpty)
        #expect(Self.evicted(Self.others(64)) == [1])
        #expect(Self.evicted(Self.others(66)) == [1, 2, 3])
        #expect(Self.evicted(Self.others(66, proven: [1, 2, 4])) == [3, 5, 6])
        #expect(Self.evicted(Self.others(66, proven: Set(1...65))) == [66, 1, 2])
    }

    @Test func `the infos of a key fit into two responses`() {
        // Ten installations with 2,000 contacts fit, or four with 4,000.
        #expect(Self.evicted(Self.others(9, contacts: 2_000), contacts: 2_000).isEmpty)
        #expect(Self.evicted(Self.others(10, contacts: 2_000), contacts: 2_000) == [1])
        #expect(Self.evicted(Self.others(10, contacts: 2_000, proven: [1]), contacts: 2_000) == [2])
        #expect(Self.evicted(Self.others(9, contacts: 2_000)).isEmpty)
        #expect(Self.evicted(Self.others(9, contacts: 2_000), contacts: 7_900) == [1, 2, 3])
        #expect(Self.evicted(Self.others(3, contacts: 4_000), contacts: 4_000).isEmpty)
        #expect(Self.evicted(Self.others(4, contacts: 4_000), contacts: 4_000) == [1])
    }

    @Test(arguments: [Int.min, -1, .max]) func `a stored length may be any number`(byteCount: Int) {
        let others = Self.others(70).mapValues { live in
            var live = live
            (live.contactByteCount, live.listByteCount) = (byteCount, byteCount)
            return live
        }
        #expect(Self.evicted(others).count == (byteCount == .max ? 69 : 7))
    }

    @Test func `an info is never longer than its capacity expects`() {
        var longest = QueryableRegistration()
        longest.installationID = String(repeating: "i", count: ProtocolLimits.maximumInstallationIDByteCount)
        longest.accessToken = Fixture.accessToken
        longest.version = .max
        longest.grant = Array(repeating: 0x22, count: 65)
        let info = QueryRules.info(for: longest, keyHash: Fixture.keyHash, serverPublicKey: FixedBytes(repeating: 2))
        #expect(info.encodedByteCount <= KeyCapacity.infoByteCount)
    }
}
