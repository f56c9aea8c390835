import Envelope
import Store
import TestServers
import TestSupport
import Testing

@testable import Delivery

/// Each counter goes up by the amount of what happened, and no other one does.
@Suite(.safetyNet) struct CounterTests {
    struct Scene: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let counts: [String: Int]
        /// How long the pushes have waited when the delivery starts.
        var age = Duration.zero
        var prepare: @Sendable (World, any PushStore) async throws -> Void = { _, _ in }
        let happens: @Sendable (StubGorush, Running) async throws -> Void
    }

    static let scenes = [
        Scene(
            testDescription: "three pushes, one of which is tried again",
            counts: [
                "pushserver_gorush_requests_total ios accepted": 2, "pushserver_gorush_requests_total android accepted": 2,
                "pushserver_pushes_total ios ios sent": 2, "pushserver_pushes_total android android sent": 1,
                "pushserver_push_failures_total android transient": 1, "pushserver_push_retries_total android failed": 1,
            ]
        ) { stub, running in
            stub.fail(token: androidToken(3), with: "ServiceUnavailable")
            try await running.accept([iosPush(1), iosPush(2), androidPush(3)])
            try await running.settle()
            stub.fail(token: androidToken(3), with: nil)
            try await running.pass { try await running.isAllDone() }
        },
        Scene(
            testDescription: "a dead token of two registrations, with two pushes",
            counts: [
                "pushserver_gorush_requests_total ios accepted": 1, "pushserver_pushes_total ios ios dead_token": 1,
                "pushserver_push_failures_total ios dead_token": 1, "pushserver_dead_registrations_total ios": 2,
            ]
        ) { world, store in
            let pushes = (1...2).map { iosPush($0, token: iosToken(1)) }
            try await store.apply(at: world.wallClock.now) { batch in
                for push in pushes { batch.register(registration(of: push), topics: QueryTopics(plain: 1, prefixed: 2)) }
            }
        } happens: { stub, running in
            stub.fail(token: iosToken(1), with: "Unregistered")
            running.world.advance(by: .seconds(1))
            try await running.accept([iosPush(1)])
            try await running.pass { try await running.isAllDone() }
        },
        Scene(
            testDescription: "three pushes whose lifetime is over",
            counts: ["pushserver_pushes_total android android expired": 3, "pushserver_push_failures_total android expired": 3],
            age: DeliveryConfiguration(endpoint: .init(url: "")).lifetime
        ) { world, store in
            try await world.accept((1...3).map { androidPush($0) }, in: store)
        } happens: { _, running in
            try await running.pass { try await running.isAllDone() }
        },
        Scene(
            testDescription: "two pushes without an answer",
            counts: [
                "pushserver_gorush_requests_total ios uncertain": 2, "pushserver_gorush_requests_total ios accepted": 2,
                "pushserver_pushes_total ios ios sent": 2, "pushserver_push_failures_total ios no_response": 2,
                "pushserver_push_retries_total ios uncertain": 2,
            ]
        ) { stub, running in
            try await running.settle()
            stub.breakDown(.reset)
            try await running.accept([iosPush(1), iosPush(2)])
            try await running.settle()
            stub.breakDown(nil)
            try await running.pass { try await running.isAllDone() }
        },
    ]

    @Test(arguments: scenes) func `what happens is counted, each time once`(_ scene: Scene) async throws {
        try await withStubGorush { stub in
            try await CountedMetrics.with { counted in
                let world = try World()
                try await world.withStore { try await scene.prepare(world, $0) }
                world.wallClock.advance(by: scene.age)
                try await world.withDelivery(to: await stub.url) { running in try await scene.happens(stub, running) }
                #expect(counted.all == scene.counts)
            }
        }
    }
}
