import Bytes
import Envelope
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import PushClient

/// Advertisements and withdrawals of a device, in any order.
@Suite(.safetyNet)
struct AdvertisedDevicesTests {
    private let alice = Identity(.test(7))
    private let server = Identity(.test(8)).publicKey
    private var advertised = AdvertisedDevices(of: Identity(.test(7)).publicKey)

    private mutating func take(_ info: PushNotificationQueryInfo) throws {
        var advertisement = ContactCodeAdvertisement()
        advertisement.pushNotificationInfo = [info]
        let sealed = ApplicationMetadata.seal(advertisement.encoded(), type: .contactCodeAdvertisement, signer: alice.privateKey)
        advertised.take(try ApplicationMetadata.open(sealed), sentAt: Timestamp(nanoseconds: 0), to: nil)
    }

    private mutating func advertise(_ version: UInt64) throws {
        try take(
            PushNotificationQueryInfo(
                AdvertisedServer(server: server, version: version), installationID: "phone",
                accessToken: "6a4f7c1e-27a8-4c2b-9d8c-0a54c6d0b1aa", isTokenPublic: true, of: alice.privateKey))
    }

    @Test(arguments: [(4, 0), (5, 0), (6, 1)] as [(UInt64, Int)])
    mutating func `after a withdrawal only an advertisement of a higher version counts`(version: UInt64, count: Int) throws {
        try advertise(3)
        #expect(advertised.devices.count == 1)
        try take(PushNotificationQueryInfo(withdrawing: "phone", version: 5, of: alice.privateKey))
        #expect(advertised.devices.isEmpty && advertised.isWithdrawn)
        try advertise(version)
        #expect(advertised.devices.count == count)
    }
}
