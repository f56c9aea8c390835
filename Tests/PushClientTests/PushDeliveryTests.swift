import PushClient
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing

/// The choice of the server for each request, without network and clock.
@Suite(.safetyNet) struct PushDeliveryTests {
    private let owner = PushClient.PublicKey(PrivateKey.test(7).publicKey)
    private let first = PushDelivery.Route(server: PushClient.PublicKey(PrivateKey.test(1).publicKey), accessToken: "one")
    private let second = PushDelivery.Route(server: PushClient.PublicKey(PrivateKey.test(2).publicKey), accessToken: "two")

    private func delivery(_ routes: [PushDelivery.Route], installations: [String] = ["phone"]) -> PushDelivery {
        PushDelivery(to: installations.map { .init(owner: owner, installationID: $0, routes: routes) })
    }

    private func request(_ route: PushDelivery.Route, _ installations: [String] = ["phone"]) -> PushDelivery.Action {
        .request(
            server: route.server,
            devices: installations.map { PushDevice(owner: .key(owner), installationID: $0, accessToken: route.accessToken) })
    }

    private func report(_ outcome: DeviceReport.Outcome, _ installation: String = "phone") -> DeviceReport {
        DeviceReport(keyHash: owner.hash.hex, installationID: installation, outcome: outcome)
    }

    @Test func `devices of one server share one request, which is sent once`() {
        var delivery = delivery([first, second], installations: ["phone", "tablet"])
        #expect(delivery.next(at: .zero) == [request(first, ["phone", "tablet"])])
        #expect(delivery.next(at: .seconds(2.9)) == [])
        delivery.received([report(.accepted), report(.accepted, "tablet")], from: first.server, at: .seconds(2.9))
        #expect(delivery.reports?.map(\.outcome) == [.accepted(by: first.server), .accepted(by: first.server)])
        #expect(delivery.next(at: .seconds(100)) == [])
    }

    @Test func `after 3 seconds of silence another server gets the request, and no third one after a late success`() {
        let third = PushDelivery.Route(server: PushClient.PublicKey(PrivateKey.test(3).publicKey), accessToken: "three")
        var delivery = delivery([first, second, third])
        _ = delivery.next(at: .zero)
        #expect(delivery.next(at: .seconds(3)) == [request(second)])
        delivery.received([report(.accepted)], from: first.server, at: .seconds(4))
        #expect(delivery.next(at: .seconds(6)) == [])
        #expect(delivery.reports?.map(\.outcome) == [.accepted(by: first.server)])
    }

    @Test func `when no server replies, the last one has 10 seconds`() {
        var delivery = delivery([first, second])
        _ = delivery.next(at: .zero)
        _ = delivery.next(at: .seconds(3))
        #expect(delivery.next(at: .seconds(12.9)) == [] && delivery.reports == nil)
        _ = delivery.next(at: .seconds(13))
        #expect(delivery.reports?.map(\.outcome) == [.noReply])
    }

    @Test func `a wrong token is looked up once, and the same server gets the current one`() {
        var delivery = delivery([first, second])
        _ = delivery.next(at: .zero)
        delivery.received([report(.wrongToken)], from: first.server, at: .seconds(1))
        #expect(delivery.next(at: .seconds(1)) == [.query(owner: owner)])
        #expect(delivery.next(at: .seconds(1)) == [])
        let renewed = PushDelivery.Route(server: first.server, accessToken: "new")
        delivery.learned([info(renewed)], of: owner, at: .seconds(2))
        #expect(delivery.next(at: .seconds(2)) == [request(renewed)])
        delivery.received([report(.wrongToken)], from: first.server, at: .seconds(3))
        #expect(delivery.next(at: .seconds(4.9)) == [])
        #expect(delivery.next(at: .seconds(5)) == [request(second)])
        delivery.received([report(.wrongToken)], from: second.server, at: .seconds(6))
        #expect(delivery.next(at: .seconds(6)) == [])
        #expect(delivery.reports?.map(\.outcome) == [.rejected(.wrongToken)])
    }

    @Test func `an echo of the first refusal is not a response to the current token`() {
        var delivery = delivery([first])
        _ = delivery.next(at: .zero)
        delivery.received([report(.wrongToken)], from: first.server, at: .seconds(1))
        _ = delivery.next(at: .seconds(1))
        let renewed = PushDelivery.Route(server: first.server, accessToken: "new")
        delivery.learned([info(renewed)], of: owner, at: .seconds(2))
        _ = delivery.next(at: .seconds(2))
        delivery.received([report(.wrongToken)], from: first.server, at: .seconds(2.5))
        #expect(delivery.next(at: .seconds(2.5)) == [] && delivery.reports == nil)
        delivery.received([report(.accepted)], from: first.server, at: .seconds(3))
        #expect(delivery.reports?.map(\.outcome) == [.accepted(by: first.server)])
    }

    @Test func `a wrong current token is reported when the server's time is over`() {
        var delivery = delivery([first])
        _ = delivery.next(at: .zero)
        delivery.received([report(.wrongToken)], from: first.server, at: .zero)
        _ = delivery.next(at: .zero)
        delivery.learned([info(PushDelivery.Route(server: first.server, accessToken: "new"))], of: owner, at: .zero)
        _ = delivery.next(at: .zero)
        delivery.received([report(.wrongToken)], from: first.server, at: .seconds(1))
        #expect(delivery.next(at: .seconds(9.9)) == [] && delivery.reports == nil)
        _ = delivery.next(at: .seconds(10))
        #expect(delivery.reports?.map(\.outcome) == [.rejected(.wrongToken)])
    }

    @Test func `a wrong token that is still the only known one is not sent again`() {
        var delivery = delivery([first])
        _ = delivery.next(at: .zero)
        delivery.received([report(.wrongToken)], from: first.server, at: .zero)
        _ = delivery.next(at: .zero)
        delivery.learned([info(first)], of: owner, at: .seconds(3))
        #expect(delivery.next(at: .seconds(3)) == [])
        #expect(delivery.reports?.map(\.outcome) == [.rejected(.wrongToken)])
    }

    @Test func `after INTERNAL_ERROR another server gets the request, or the same one up to twice after a delay`() {
        var delivery = delivery([first, second])
        _ = delivery.next(at: .zero)
        delivery.received([report(.internalError)], from: first.server, at: .zero)
        #expect(delivery.next(at: .zero) == [request(second)])
        delivery.received([report(.internalError)], from: second.server, at: .seconds(1))
        #expect(delivery.next(at: .seconds(1.9)) == [])
        #expect(delivery.next(at: .seconds(2)) == [request(second)])
        delivery.received([report(.internalError)], from: second.server, at: .seconds(3))
        #expect(delivery.next(at: .seconds(5)) == [request(second)])
        delivery.received([report(.internalError)], from: second.server, at: .seconds(6))
        #expect(delivery.reports?.map(\.outcome) == [.rejected(.internalError)])
    }

    @Test func `the client tries another server if one does not know the device`() {
        var delivery = delivery([first, second])
        _ = delivery.next(at: .zero)
        delivery.received([report(.notRegistered)], from: first.server, at: .zero)
        #expect(delivery.next(at: .zero) == [request(second)])
    }

    @Test func `reports of a server without request, or about a device that was not named, are ignored`() {
        var delivery = delivery([first, second])
        _ = delivery.next(at: .zero)
        delivery.received([report(.accepted)], from: second.server, at: .zero)
        delivery.received([report(.accepted, "tablet")], from: first.server, at: .zero)
        #expect(delivery.reports == nil)
        delivery.received([report(.accepted)], from: first.server, at: .zero)
        #expect(delivery.reports?.map(\.outcome) == [.accepted(by: first.server)])
    }

    @Test func `a late rejection by a server that was given up changes nothing`() {
        var delivery = delivery([first, second])
        _ = delivery.next(at: .zero)
        _ = delivery.next(at: .seconds(3))
        delivery.received([report(.wrongToken)], from: first.server, at: .seconds(4))
        #expect(delivery.next(at: .seconds(4)) == [])
        delivery.received([report(.accepted)], from: second.server, at: .seconds(5))
        #expect(delivery.reports?.map(\.outcome) == [.accepted(by: second.server)])
    }

    @Test func `a device without any token is reported unknown, and nothing is sent for it`() {
        var delivery = delivery([])
        #expect(delivery.next(at: .zero) == [])
        #expect(delivery.reports?.map(\.outcome) == [.unknown])
    }

    private func info(_ route: PushDelivery.Route) -> DeviceInfo {
        DeviceInfo(
            server: route.server, installationID: "phone", accessToken: route.accessToken, encryptedTokenCount: 0, version: 1,
            authorization: .verified)
    }
}
