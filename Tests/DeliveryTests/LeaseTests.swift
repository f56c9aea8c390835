import Store
import TestServers
import TestSupport
import Testing

@testable import Delivery

/// A server that was fenced posts nothing under the number that it has lost.
@Suite(.safetyNet) struct LeaseTests {
    @Test func `a lease that has ended is the cluster's to tell, and no fault of the outbox`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            let lines = LogLines()
            try await world.withDelivery(to: await stub.url, logger: lines.logger, mayPost: { _ in false }) { running in
                try await running.accept([iosPush(1)])
                for _ in 1...5 {
                    try await running.settle()
                    #expect(running.loop.healthIssues == [])
                    world.advance(by: .seconds(1))
                }
                #expect(stub.posts.all.isEmpty)
            }
            #expect(lines.all.allSatisfy { !$0.contains("outbox") }, "\(lines.all)")
        }
    }

    @Test func `a server that gets another number posts nothing more of what it has read, and reads it again`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            let store = try world.open()
            var configuration = DeliveryConfiguration(endpoint: .init(url: await stub.url))
            (configuration.timeout, configuration.probeTimeout, configuration.batchMode) = (.seconds(3_600), .seconds(3_600), .batch)
            // A proxy refuses the first batch, and meanwhile another server fences this one, which joins again.
            stub.next(.answer(status: 413))
            let number: @Sendable () -> Int64 = { stub.posts.all.isEmpty ? 1 : 2 }
            let loop = DeliveryLoop(
                store: store, configuration: configuration, clock: world.clock, wallClock: world.wallClock.clock, logger: quietLogger,
                memberNumber: number, mayPost: { $0 == number() }, onUnregistered: { _ in })
            let running = Running(world: world, store: store, loop: loop)
            try await running.accept((1...4).map { androidPush($0, owner: $0) })
            let delivering = Task { try await loop.run() }
            defer { delivering.cancel() }
            try await running.settle()
            // The halves of the batch are not posted: the other server may have posted these pushes.
            #expect(stub.posts.all.count == 1)
            try await running.pass { try await running.isAllDone() }
            #expect(stub.notifications.all.flatMap(\.tokens).sorted() == (1...4).map(androidToken))
            #expect(try await running.outcomes() == [.sent: 4])
            delivering.cancel()
            try await delivering.value
            await store.close()
        }
    }
}
