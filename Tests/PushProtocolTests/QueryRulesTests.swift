import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The rules of PROTOCOL.md §8.
@Suite(.safetyNet) struct QueryRulesTests {
    private let serverPublicKey = FixedBytes<33>(repeating: 2)

    private func registration(_ change: (inout QueryableRegistration) -> Void = { _ in }) -> QueryableRegistration {
        var registration = QueryableRegistration()
        registration.installationID = Fixture.installationID
        registration.accessToken = Fixture.accessToken
        registration.grant = Array(repeating: 3, count: 65)
        registration.version = UInt64.max
        change(&registration)
        return registration
    }

    private func query(_ keys: [[UInt8]]) -> PushNotificationQuery {
        var query = PushNotificationQuery()
        query.publicKeys = keys
        return query
    }

    @Test func `keys that are not 64 bytes are ignored, and each is looked up once, in order`() {
        let first = Digest64(repeating: 1)
        let second = Digest64(repeating: 2)
        let keys = [
            [], second.bytes, Array(repeating: 9, count: 63), first.bytes, second.bytes, Array(repeating: 9, count: 65), first.bytes,
        ]
        #expect(QueryRules.keys(of: query(keys)) == [second, first])
    }

    @Test(arguments: [0, 1, 100, 101, 1_000])
    func `at most 100 keys are looked at`(count: Int) {
        let keys = (0..<count).map { number in [UInt8(number >> 8), UInt8(number & 255)] + Array(repeating: 0, count: 62) }
        #expect(QueryRules.keys(of: query(keys)) == keys.prefix(100).compactMap { Digest64($0) })
    }

    @Test(arguments: [false, true], [[], [[4, 5], [6]]] as [[[UInt8]]])
    func `the response contains the token only without a restriction`(allowFromContactsOnly: Bool, allowedKeyList: [[UInt8]]) {
        let registration = registration {
            $0.allowFromContactsOnly = allowFromContactsOnly
            $0.allowedKeyList = allowedKeyList
        }
        let info = QueryRules.info(for: registration, keyHash: Fixture.keyHash, serverPublicKey: serverPublicKey)
        let isRestricted = allowFromContactsOnly || !allowedKeyList.isEmpty
        #expect(info.accessToken == (isRestricted ? "" : Fixture.accessToken))
        #expect(info.allowedKeyList == allowedKeyList)
    }

    @Test func `registrations are ordered by installation id, and keys by the query`() {
        let (first, second) = (Digest64(repeating: 1), Digest64(repeating: 2))
        let known = [
            first: ["b", "a", "ab"].map { id in registration { $0.installationID = id } }, second: [registration()],
        ]
        let infos = QueryRules.answer(
            on: [second, Digest64(repeating: 3), first], in: known, within: Allowances(), serverPublicKey: serverPublicKey
        ).infos
        #expect(infos.map(\.installationID) == [Fixture.installationID, "a", "ab", "b"])
        #expect(infos.map(\.publicKey) == [second.bytes, first.bytes, first.bytes, first.bytes])
    }

    @Test func `a response omits the entries that do not fit, but never all`() {
        let keys = (1...5).map { Digest64(repeating: $0) }
        func infos(_ keys: [Digest64], byteCount: Int) -> [PushNotificationQueryInfo] {
            var large = registration()
            large.allowedKeyList = [[UInt8](repeating: 1, count: byteCount)]
            var known: [Digest64: [QueryableRegistration]] = [:]
            for key in keys { known[key] = [large] }
            return QueryRules.answer(on: keys, in: known, within: Allowances(), serverPublicKey: serverPublicKey).infos
        }
        let halves = infos(keys, byteCount: ProtocolLimits.maximumResponseByteCount / 2 - 1_000)
        #expect(halves.map(\.publicKey) == [keys[0].bytes, keys[1].bytes, keys[2].bytes, keys[3].bytes])
        let wholes = infos(keys, byteCount: ProtocolLimits.maximumResponseByteCount)
        #expect(wholes.map(\.publicKey) == [keys[0].bytes, keys[1].bytes])
    }

    @Test func `an answer that is too long for one response is sent as two, the newest registrations in the first`() throws {
        let key = Digest64(repeating: 1)
        let contacts = Array(repeating: [UInt8](repeating: 1, count: 64), count: 4_000)
        func responses(_ count: Int) -> [[String]] {
            let known = (1...count).map { number in
                registration {
                    $0.installationID = "\(number)"
                    $0.allowedKeyList = contacts
                }
            }.enumerated().map { number, registration in
                var registration = registration
                registration.registeredAt = Timestamp(nanoseconds: Int64(number))
                return registration
            }
            let answer = QueryRules.answer(on: [key], in: [key: known], within: Allowances(), serverPublicKey: serverPublicKey)
            let responses = QueryRules.responses(answer, messageID: Digest32(repeating: 7))
            for response in responses {
                #expect(response.success && response.messageID == Digest32(repeating: 7).bytes)
                #expect(response.encodedByteCount <= ProtocolLimits.maximumResponseByteCount + 64)
            }
            return responses.map { $0.info.map(\.installationID) }
        }
        #expect(responses(2) == [["1", "2"]])
        #expect(responses(3) == [["2", "3"], ["1"]])
        #expect(responses(4) == [["3", "4"], ["1", "2"]])
        #expect(responses(5) == [["4", "5"], ["2", "3"]])
    }

    @Test func `bytes above 4 KB are charged per key, and infos above the remaining credits are omitted`() {
        let (small, large) = (Digest64(repeating: 1), Digest64(repeating: 2))
        let list = Array(repeating: [UInt8](repeating: 1, count: 64), count: 2_000)
        let known = [
            small: (1...12).map { number in registration { $0.installationID = "\(number)" } },
            large: [registration { $0.allowedKeyList = list }, registration { $0.installationID = "without a list" }],
        ]
        func answer(_ allowances: Allowances) -> QueryRules.Answer {
            QueryRules.answer(on: [small, large], in: known, within: allowances, serverPublicKey: serverPublicKey)
        }
        var allowances = Allowances()
        let byteCount = answer(allowances).infos.suffix(2).reduce(0) { $0 + $1.encodedByteCount }
        #expect(answer(allowances).byteCounts == [large: byteCount - ProtocolLimits.unmeteredResponseByteCount])
        #expect(answer(allowances).infos.count == 14 && !answer(allowances).isCut)

        var answerCount = 0
        while !answer(allowances).isCut {
            allowances.spend(
                .response(
                    message: Int64(answerCount), query: Digest32(), digest: 0, byteCounts: answer(allowances).byteCounts))
            answerCount += 1
        }
        // The responses are those of one burst, and then all small infos of both keys.
        let share = Double(ProtocolLimits.responseByteCapacity) * 0.8
        #expect(answerCount == Int((share / Double(byteCount - ProtocolLimits.unmeteredResponseByteCount)).rounded(.up)))
        #expect(answer(allowances).infos.count == 13)
        #expect(answer(allowances).byteCounts.isEmpty)
        allowances.now = allowances.now.advanced(by: .seconds(1))
        #expect(answer(allowances).infos.count == 14)
    }

    @Test func `an info carries installation, key hash, grant, version and the server's key`() {
        let info = QueryRules.info(for: registration(), keyHash: Fixture.keyHash, serverPublicKey: serverPublicKey)
        #expect(info.installationID == Fixture.installationID)
        #expect(info.publicKey == Fixture.keyHash.bytes)
        #expect(info.grant == Array(repeating: 3, count: 65))
        #expect(info.version == UInt64.max)
        #expect(info.serverPublicKey == serverPublicKey.bytes)
    }

    @Test func `a reply carries every info, the id of the query and success`() throws {
        let messageID = Digest32(repeating: 8)
        let infos = [1, 2].map { version in
            QueryRules.info(for: registration { $0.version = version }, keyHash: Fixture.keyHash, serverPublicKey: serverPublicKey)
        }
        let response = try #require(QueryRules.response(infos, messageID: messageID))
        #expect(response.info == infos)
        #expect(response.messageID == messageID.bytes)
        #expect(response.success)
    }

    @Test func `a query about unknown owners has no reply`() {
        #expect(QueryRules.response([], messageID: Digest32()) == nil)
    }
}
