import Bytes
import Envelope
import PushClientTesting
import StatusCrypto
import Tasks
import TestSupport
import Testing
import Wire

@testable import PushClient

/// Replies that arrive after the device has changed, and retries.
@Suite(.safetyNet)
struct RegistrationPlanTests {
    private let network = FakeNetwork(serverCount: 1)
    private let alice = Identity(.test(7))
    private let device = Device(firebaseToken: "token")
    private var server: PushClient.PublicKey { network.servers[0].identity }
    private var random = SplitMix64(seed: 1)
    private var plan = RegistrationPlan(installationID: "phone")

    /// Orders a registration, and seals its request.
    private mutating func order(_ device: Device) throws -> SealedRegistration {
        plan.register(device, with: [server], using: &random)
        return try request()
    }

    /// Seals the next request.
    private mutating func request() throws -> SealedRegistration {
        let noted = try plan.noteRequest(to: server, of: alice, through: network.node, using: &random)
        guard case .sealed(_, let sealed)? = noted else { throw Unsealed() }
        return sealed
    }

    private struct Unsealed: Error {}

    /// Records a reply to a request; an error of 0 means success.
    private mutating func answer(_ request: SealedRegistration, error: Int32) -> RegistrationEvent? {
        var response = PushNotificationRegistrationResponse()
        response.success = error == 0
        response.error = RegistrationError(rawValue: error)
        return plan.answered(
            response, requestID: request.requestID.description, by: server, now: network.node.now, using: &random)
    }

    @Test(arguments: [Int32(0), 1, 2, 3, 4])
    mutating func `a late reply about an older device is not reported, and does not stop the new one`(error: Int32) throws {
        let request = try order(device)
        var changed = device
        changed.deviceToken = "another"
        plan.register(changed, with: [server], using: &random)
        #expect(answer(request, error: error) == nil)
        #expect(plan.statuses.map(\.phase) == [.registering] && plan.statuses.map(\.failureCount) == [0])
        #expect(plan.due(at: network.node.now) == [server])
    }

    @Test(arguments: [Int32(0), 1, 3, 4])
    mutating func `the same reply about the device as it is now is reported`(error: Int32) throws {
        let request = try order(device)
        plan.register(device, with: [server], using: &random)
        #expect(answer(request, error: error) != nil)
        #expect(plan.due(at: network.node.now) == [])
    }

    @Test mutating func `each device is tried with four versions`() throws {
        for number in 1...2 {
            var device = device
            device.deviceToken = "token \(number)"
            var events = [answer(try order(device), error: 2)]
            for _ in 2...4 { events.append(answer(try request(), error: 2)) }
            #expect(events.map { $0 != nil } == [false, false, false, true])
            #expect(plan.due(at: network.node.now) == [])
        }
    }

    @Test mutating func `a clock that was set back by more than the longest delay delays no retry`() throws {
        _ = try order(device)
        let now = network.node.now
        let event = plan.failed(.nodeUnreachable(reason: "down"), to: server, generation: 1, now: now, using: &random)
        #expect(event?.kind == .retrying && plan.due(at: now) == [])
        let earlier = now.advanced(by: .seconds(-2 * 86_400))
        #expect(plan.due(at: earlier) == [server] && plan.nextAttempt(after: earlier, except: []) == earlier)
    }
}
