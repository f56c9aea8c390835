import Bytes
import Envelope
import PushProtocol
import Store
import TestServers
import TestSupport
import Testing
import Wire

@testable import Delivery

/// Failures that leave the route healthy and remove no registration (DELIVERY_RULES.md).
@Suite(.safetyNet) struct HealthyRouteTests {
    private static let topics = QueryTopics(plain: 1, prefixed: 2)

    private func register(_ pushes: [AcceptedPush], in store: any PushStore) async throws {
        let before = World.start.advanced(by: .seconds(-10))
        try await store.apply(at: before) { batch in
            for push in pushes { batch.register(registration(of: push), topics: Self.topics) }
        }
    }

    @Test(
        arguments: [
            (2, "SenderId mismatch"), (2, "Requested entity was not found."), (2, "Auth error from APNS or Web Push Service"),
            (1, "BadDeviceToken"), (1, "DeviceTokenNotForTopic"),
        ], [true, false])
    func `tokens of another project or team make no route fail, whether honest devices get deliveries or are idle`(
        of platform: (Int, String), isBusy: Bool
    ) async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                func push(_ number: Int) -> AcceptedPush { platform.0 == 1 ? iosPush(number) : androidPush(number) }
                let (honest, strangers) = ((0..<3).map(push), (10..<16).map(push))
                try await register(honest + strangers, in: running.store)
                try await running.accept(honest)
                try await running.settle()
                for push in strangers { stub.fail(token: push.deviceToken.text, with: platform.1) }
                for message in 2..<42 {
                    var pushes = [strangers[message % 6]]
                    if isBusy { pushes.append(honest[message % 3]) }
                    try await running.accept(pushes, message: Int64(message))
                    try await running.settle()
                    #expect(running.loop.healthIssues == [])
                    world.advance(by: .seconds(30))
                }
                for push in honest { #expect(try await running.store.version(of: push.target)?.isRegistered == true) }
                #expect(world.unregistered.all.allSatisfy { $0.registration > 3 })
            }
        }
    }

    @Test func `a device that is off does not count as failed: Apple and Google accept its pushes`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                let phones = [iosPush(1), androidPush(2)]
                try await register(phones, in: running.store)
                for day in 1...14 {
                    try await running.accept(phones, message: Int64(day))
                    try await running.settle()
                    world.advance(by: .seconds(86_400))
                    try await running.settle()
                    #expect(running.loop.healthIssues == [] && running.loop.warnings == [])
                }
                #expect(try await running.outcomes() == [.sent: 28])
                #expect(stub.notifications.all.count == 28 && world.unregistered.all == [])
                #expect(try await running.store.registrationCount() == 2)
            }
        }
    }

    @Test func `an idle route with one push an hour does not fail when each fails once`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                let pushes = (0..<6).map { androidPush($0) }
                try await running.accept(pushes)
                try await running.settle()
                for hour in 1...24 {
                    let push = pushes[hour % 6]
                    stub.fail(token: push.deviceToken.text, with: "The service is currently unavailable.")
                    try await running.accept([push], message: Int64(hour) + 1)
                    try await running.settle()
                    #expect(running.loop.healthIssues == [] && running.loop.warnings == [])
                    stub.fail(token: push.deviceToken.text, with: nil)
                    let passed = try await running.pass { try await running.isAllDone() }
                    #expect(passed <= .seconds(5), "\(passed)")
                    world.advance(by: .seconds(3_600))
                }
                #expect(try await running.outcomes() == [.sent: 30])
                #expect(running.loop.healthIssues == [] && running.loop.warnings == [])
            }
        }
    }
}
