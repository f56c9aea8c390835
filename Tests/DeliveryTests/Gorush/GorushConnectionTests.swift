import Foundation
import HTTPClient
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import Delivery

/// The rule that nothing is posted over a connection before gorush's configuration was seen over it.
@Suite(.safetyNet) struct GorushConnectionTests {
    /// A gorush that records the requests of each connection, and can restart with another configuration.
    private final class Gorush: Sendable {
        let requests = Mutex<[[String]]>([])
        let configuration = Mutex(syncConfiguration)
        /// Whether it closes each connection after one response.
        let closes = Atomic(false)
        private let open = Mutex<[Int: RawConnection]>([:])

        func handle(_ connection: RawConnection) {
            let number = requests.withLock { requests in
                requests.append([])
                return requests.count - 1
            }
            open.withLock { $0[number] = connection }
            // Before the descriptor is closed, and perhaps used again.
            defer { open.withLock { $0[number] = nil } }
            while let request = connection.readRequest() {
                let method = String(request.prefix { $0 != " " })
                requests.withLock { $0[number].append(method) }
                let body = method == "GET" ? configuration.withLock { $0 } : oneAccepted
                connection.respond(body: body, isLast: closes.load(ordering: .sequentiallyConsistent))
            }
        }

        /// Ends all connections.
        func restart() {
            open.withLock { connections in
                for connection in connections.values { connection.shutDown() }
            }
        }

        var all: [[String]] { requests.withLock { $0 } }
        var postCount: Int { all.joined().count { $0 == "POST" } }
    }

    @Test func `the first request of each connection reads the configuration, and pushes share the connections`() async throws {
        let gorush = Gorush()
        let server = try RawServer { gorush.handle($0) }
        defer { server.stop() }
        let client = GorushClient(.init(url: server.url))
        for _ in 1...20 {
            await withTaskGroup(of: Void.self) { group in
                for _ in 1...8 { group.addTask { #expect(await client.post([.android()]) == .accepted(failures: [])) } }
            }
        }
        #expect(gorush.postCount == 160)
        #expect(gorush.all.allSatisfy { $0.first != "POST" })
        // At most eight requests were in flight.
        #expect(gorush.all.count <= 8 && gorush.all.allSatisfy { $0.count { $0 == "GET" } == 1 }, "\(gorush.all)")
    }

    @Test func `what is posted once at most goes over a connection of the last second, or a new one`() async throws {
        let gorush = Gorush()
        let server = try RawServer { gorush.handle($0) }
        defer { server.stop() }
        let clock = ManualClock()
        let client = GorushClient(.init(url: server.url), clock: clock)
        for (milliseconds, connectionCount) in [(0, 1), (999, 1), (1_000, 2), (999, 2)] {
            clock.advance(by: .milliseconds(milliseconds))
            let response = await client.post([.android()], timeout: .seconds(600), onFreshConnection: true)
            #expect(response == .accepted(failures: []))
            #expect(gorush.all.count == connectionCount, "after \(milliseconds) ms")
        }
        clock.advance(by: .seconds(60))
        #expect(await client.post([.android()]) == .accepted(failures: []))
        #expect(gorush.all.map(\.count) == [3, 4])
    }

    @Test func `a gorush that comes back in asynchronous mode gets no push, whatever number is posted`() async throws {
        let gorush = Gorush()
        let server = try RawServer { gorush.handle($0) }
        defer { server.stop() }
        let client = GorushClient(.init(url: server.url))
        func post(count: Int) async -> [GorushResponse] {
            await withTaskGroup(of: GorushResponse.self) { group in
                for _ in 0..<count { group.addTask { await client.post([.android()]) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        #expect(await post(count: 8) == Array(repeating: .accepted(failures: []), count: 8))
        gorush.restart()
        gorush.configuration.withLock { $0 = syncConfiguration.replacing("sync: true", with: "sync: false") }
        let before = gorush.postCount
        for response in await post(count: 32) {
            guard case .unfit(let issue) = response else {
                Issue.record("\(response)")
                continue
            }
            #expect(issue.hasPrefix("gorush runs in async mode"))
        }
        #expect(gorush.postCount == before)
        gorush.configuration.withLock { $0 = syncConfiguration }
        // The connections over which it was seen are still open.
        #expect(await client.post([.android()]) == .accepted(failures: []))
    }

    @Test func `a gorush that keeps no connection open is told so, and gets no push`() async throws {
        let gorush = Gorush()
        gorush.closes.store(true, ordering: .sequentiallyConsistent)
        let server = try RawServer { gorush.handle($0) }
        defer { server.stop() }
        guard case .unfit(let issue) = await GorushClient(.init(url: server.url)).post([.android()]) else {
            Issue.record("posted")
            return
        }
        #expect(issue.contains("keep-alive") && gorush.postCount == 0)
        #expect(gorush.all.joined().count == 3)
    }
}
