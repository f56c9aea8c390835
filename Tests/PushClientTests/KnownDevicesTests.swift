import Bytes
import Envelope
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing

@testable import PushClient

/// What a lookup learns from several answers about one device.
@Suite(.safetyNet)
struct KnownDevicesTests {
    private func device(_ installationID: String, version: UInt64) -> DeviceInfo {
        DeviceInfo(
            server: Identity(.test(7)).publicKey, installationID: installationID, accessToken: "token \(version)", encryptedTokenCount: 0,
            version: version, authorization: .verified)
    }

    @Test(arguments: [[1, 2], [2, 1], [2, 1, 2]] as [[UInt64]])
    func `of several answers about a device the one with the highest version counts, in any order`(versions: [UInt64]) {
        let known = KnownDevices(
            versions.map { device("phone", version: $0) } + [device("tablet", version: 1)], lastActiveFirst: [],
            learnedAt: Timestamp(nanoseconds: 0), after: nil)
        #expect(known.devices == [device("phone", version: 2), device("tablet", version: 1)])
    }

    @Test func `what was learnt later than now is looked up again, because a clock was wrong`() {
        let known = KnownDevices(
            [device("phone", version: 1)], lastActiveFirst: [], learnedAt: Timestamp(nanoseconds: 1), after: nil)
        #expect(known.isFresh(at: Timestamp(nanoseconds: 1)) && !known.mayBeRefreshed(at: Timestamp(nanoseconds: 1)))
        #expect(!known.isFresh(at: Timestamp(nanoseconds: 0)) && known.mayBeRefreshed(at: Timestamp(nanoseconds: 0)))
    }
}
