import Foundation
import HTTPServing
import Hummingbird
import NIOCore
import ServiceLifecycle
import Synchronization
package import TestSupport

/// A stub of gorush that delivers nothing: a real HTTP server that responds like gorush v1.22.0 (GORUSH.md). The stub records its requests
/// and has faults that tests choose. The stub is stricter in one respect: it rejects bytes after the JSON.
package final class StubGorush: Service, Sendable {
    package struct Configuration: Sendable {
        /// The port. 0 means any free port.
        package var port: Int
        /// Whether `logs` contains failures: gorush's `core.sync`.
        package var isSync: Bool
        /// The limit of notifications in a request: gorush's `core.max_notification`.
        package var maximumNotificationCount: Int
        /// The enabled platforms. The stub drops notifications for other platforms without a report.
        package var enabledPlatforms: Set<Int>
        /// Whether logs hide tokens: gorush's `log.hide_token`.
        package var hidesTokens: Bool
        /// The queue engine: gorush's `queue.engine`.
        package var queueEngine: String
        /// Whether APNs' production service is in use: gorush's `ios.production`.
        package var isProduction: Bool
        /// The time that each request with pushes takes.
        package var delay = Duration.zero
        /// The number of workers: gorush's `core.worker_num`.
        package var workerCount = 96
        /// Whether a proxy permits requests to `/api/push` only, so that the stub's reports on itself are hidden.
        package var isBehindProxy: Bool

        package init(
            port: Int = 0,
            isSync: Bool = true,
            maximumNotificationCount: Int = 100,
            enabledPlatforms: Set<Int> = [1, 2],
            hidesTokens: Bool = true,
            queueEngine: String = "local",
            isProduction: Bool = true,
            isBehindProxy: Bool = false
        ) {
            self.port = port
            self.isSync = isSync
            self.maximumNotificationCount = maximumNotificationCount
            self.enabledPlatforms = enabledPlatforms
            self.hidesTokens = hidesTokens
            self.queueEngine = queueEngine
            self.isProduction = isProduction
            self.isBehindProxy = isBehindProxy
        }
    }

    /// A POST to `/api/push`, as received.
    package struct Post: Sendable {
        package var headers: [(name: String, value: String)]
        package var body: String
    }

    /// A fault in place of the correct response.
    package enum Misbehaviour: Sendable {
        case answer(status: Int, headers: [String: String] = [:], body: String = "")
        /// The stub does not respond.
        case hang
        /// The stub responds correctly once the condition is true.
        case delay(until: Condition<Bool>)
        /// The stub closes the connection with RST, without a response.
        case reset
        /// The stub closes the connection in the middle of the correct response.
        case breakOff
        /// The stub sends the correct response byte by byte.
        case drip(interval: Duration)
    }

    struct State {
        var configuration: Configuration
        var script: [(misbehaviour: Misbehaviour, takesBatch: Bool)] = []
        var failures: [Target: String] = [:]
        var outage: Outage?
        var poison: Set<String> = []
        var connectionFailure: (@Sendable (_ connection: Int) -> String?)?
        /// The numbers of the open connections.
        var connections: [ObjectIdentifier: Int] = [:]
        var connectionCount = 0
    }

    struct Outage {
        var misbehaviour: Misbehaviour
        var platforms: Set<Int>
        var tokens: Set<String>?
        var hidesConfiguration: Bool
    }

    /// All posts, including rejected ones.
    package let posts = Recorder<Post>()
    /// The notifications that gorush would have delivered, including failing ones. The stub adds those of a batch at once.
    package let notifications = Recorder<StubNotification>()

    let state: Mutex<State>
    let busyWorkerCount = Condition(0)
    private let addresses = Recorder<String>()

    package init(configuration: Configuration = Configuration()) {
        state = Mutex(State(configuration: configuration))
    }

    /// The URL, once the stub listens.
    package var url: String {
        get async { await addresses.wait(for: 1).first ?? "" }
    }

    /// The configuration, which may change while the stub runs.
    package var configuration: Configuration {
        get { state.withLock { $0.configuration } }
        set { state.withLock { $0.configuration = newValue } }
    }

    /// Makes later pushes to this token fail with an error such as `Unregistered` (GORUSH.md §6). nil makes them succeed again.
    ///
    /// - Parameter topic: The bundle id of the failing pushes. nil means any.
    package func fail(token: String, topic: String? = nil, with error: String?) {
        state.withLock { $0.failures[Target(token: token, topic: topic)] = error }
    }

    /// Makes later pushes for this bundle id fail, with any token.
    package func fail(topic: String, with error: String?) {
        state.withLock { $0.failures[Target(token: nil, topic: topic)] = error }
    }

    /// Makes later pushes without another failure fail by their connection, as if a balancer led to several gorush. The function gets the
    /// number of the connection, from 0 in the order of their first requests, and returns an error; nil for a delivery.
    package func failByConnection(_ failure: (@Sendable (_ connection: Int) -> String?)?) {
        state.withLock { $0.connectionFailure = failure }
    }

    struct Target: Hashable {
        var token: String?
        var topic: String?
    }

    /// Makes later posts with a notification for these platforms get this fault. The stub delivers none of their notifications. nil makes
    /// it respond correctly again.
    ///
    /// - Parameters:
    ///   - tokens: The tokens whose posts get the fault. nil means all.
    ///   - hidesConfiguration: Whether all other requests get the fault, too, as if gorush were away behind a proxy.
    package func breakDown(
        _ misbehaviour: Misbehaviour?, platforms: Set<Int> = [1, 2], tokens: Set<String>? = nil, hidesConfiguration: Bool = false
    ) {
        state.withLock {
            $0.outage = misbehaviour.map {
                Outage(misbehaviour: $0, platforms: platforms, tokens: tokens, hidesConfiguration: hidesConfiguration)
            }
        }
    }

    /// Makes the stub reject whole batches that contain this token, as for a wrong type.
    package func refuse(token: String) {
        state.withLock { _ = $0.poison.insert(token) }
    }

    /// Sets the fault of the next post that has none yet.
    ///
    /// - Parameter takesBatch: Whether the stub delivers the notifications nevertheless.
    package func next(_ misbehaviour: Misbehaviour, takesBatch: Bool = false) {
        state.withLock { $0.script.append((misbehaviour, takesBatch)) }
    }

    /// Waits until the stub has accepted this number of notifications in total.
    @discardableResult
    package func waitForNotifications(count: Int) async -> [StubNotification] {
        await notifications.wait(for: count)
    }

    /// Serves until cancelled or shut down.
    package func run() async throws {
        let listener = HTTPListener(
            host: "127.0.0.1", port: configuration.port,
            responder: CallbackResponder<StubGorushContext> { request, context in
                try await self.respond(to: request, channel: context.channel)
            },
            // Hummingbird logs an error for every connection that ends by cancellation.
            logger: quietLogger, onListening: { self.addresses.append("http://\($0)") })
        try await listener.run()
    }
}

/// Runs a stub while the body runs.
package func withStubGorush<Value: Sendable>(
    _ configuration: StubGorush.Configuration = .init(), _ body: (StubGorush) async throws -> Value
) async throws -> Value {
    let stub = StubGorush(configuration: configuration)
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await stub.run() }
        defer { group.cancelAll() }
        _ = await stub.url
        return try await body(stub)
    }
}
