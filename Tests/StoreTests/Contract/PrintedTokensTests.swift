import Bytes
import Envelope
import PushProtocol
import Store
import TestSupport
import Testing
import Wire

/// The printed forms of tokens that the store returns.
@Suite(.safetyNet)
struct PrintedTokensTests {
    private static let deviceToken = "5ec1e7 device token that nobody may read"
    private static let accessToken = "5ec1e7 access token that nobody may read"

    private let later = start.advanced(by: .seconds(10))

    private static var registered: Registration {
        var registered = registration()
        registered.content.deviceToken = DeviceToken(deviceToken)
        registered.content.accessToken = AccessToken(accessToken)
        registered.content.apnTopic = "topic"
        return registered
    }

    private static var accepted: AcceptedPush {
        var accepted = push()
        accepted.deviceToken = DeviceToken(deviceToken)
        return accepted
    }

    @Test(arguments: StoreUnderTest.all)
    func `no value that the store returns prints a token`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let (registered, accepted) = (Self.registered, Self.accepted)
            let notification = AcceptedNotification(
                GatewayNotification(
                    platform: .ios, token: DeviceToken(Self.deviceToken), topic: "topic", kind: .alert, priority: .high,
                    data: ["subject": Self.deviceToken]),
                digest: hash(2), owner: [])
            var printed: [Any] = [registered, accepted, notification]

            printed.append(try await store.apply(at: start) { $0.register(registered, topics: topics) })
            try await store.enqueue([accepted], at: start)
            _ = try await store.enqueue([notification], repeatsSince: nil, isDiscarded: false, at: start)
            let state = try await store.state(at: start) {
                $0.registrations = [accepted.target]
                $0.targets = [accepted.target: listEntries]
                $0.queries = [[accepted.target.keyHash]]
            }
            #expect(state.targets.count == 1 && state.queryable.count == 1)
            printed.append(state)
            let due = try await store.duePushes(route: "", at: start, limit: 9)
            #expect(due.count == 2)
            printed.append(due)
            let dead = DeadToken(
                token: accepted.deviceToken, type: .apn, apnTopic: "topic", attemptedAt: later, reason: .apnsUnregistered, route: "")
            var update = OutboxUpdate()
            update.tokens = [.unregister(dead)]
            printed.append(update)
            printed.append(try await store.update(update, at: later))
            let removed = try await store.deadRegistrations(limit: 9)
            #expect(removed.count == 1)
            printed.append(removed)
            printed.append(try await store.restoreDeadRegistrations(nil, at: later))
            printed.append(try await store.registrationSummaries(of: accepted.target.keyHash))

            let forms = readableForms(of: Self.deviceToken) + readableForms(of: Self.accessToken)
            for value in printed {
                for text in printedForms(of: value) {
                    #expect(forms.allSatisfy { !text.contains($0) }, "\(type(of: value)) prints a token")
                }
            }
        }
    }
}
