import Foundation
import HTTPServing
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// A gorush that sends nothing: a real HTTP server that answers like gorush v1.22.0 (GORUSH.md), remembers what it was given and
/// misbehaves when told to. Stricter in one thing: bytes after the JSON are refused.
package final class StubGorush: Service, Sendable {
    package struct Configuration: Sendable {
        /// 0: any free port.
        package var port: Int
        /// `core.sync`: whether failures are told in `logs`.
        package var isSync: Bool
        /// `core.max_notification`.
        package var maximumNotificationCount: Int
        /// Notifications for others are dropped without a word.
        package var enabledPlatforms: Set<Int>
        /// `log.hide_token`.
        package var hidesTokens: Bool
        /// `queue.engine`.
        package var queueEngine: String
        /// `ios.production`.
        package var isProduction: Bool
        /// `core.worker_num`.
        package var workerCount = 96
        /// What a proxy lets through besides `/api/push`: nothing of gorush's words on itself.
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

    /// A POST to `/api/push` as it came.
    package struct Post: Sendable {
        package var headers: [(name: String, value: String)]
        package var body: String
    }

    /// What to do instead of the right answer.
    package enum Misbehaviour: Sendable {
        case answer(status: Int, headers: [String: String] = [:], body: String = "")
        /// Never answer.
        case hang
        /// The right answer, as soon as that is true.
        case delay(until: Condition<Bool>)
        /// Close the connection with RST, without an answer.
        case reset
        /// Close the connection in the middle of the right answer.
        case breakOff
        /// The right answer, a byte at a time.
        case drip(interval: Duration)
    }

    struct State {
        var configuration: Configuration
        var script: [(misbehaviour: Misbehaviour, takesBatch: Bool)] = []
        var failures: [Target: String] = [:]
        var outage: (misbehaviour: Misbehaviour, platforms: Set<Int>)?
        var poison: Set<String> = []
    }

    /// All posts, refused ones too.
    package let posts = Recorder<Post>()
    /// What gorush would have sent on, failures included; of a batch all at once.
    package let notifications = Recorder<StubNotification>()

    let state: Mutex<State>
    private let addresses = Recorder<String>()

    package init(configuration: Configuration = Configuration()) {
        state = Mutex(State(configuration: configuration))
    }

    /// Where it listens, once it does.
    package var url: String {
        get async { await addresses.wait(for: 1).first ?? "" }
    }

    /// From now on.
    package var configuration: Configuration {
        get { state.withLock { $0.configuration } }
        set { state.withLock { $0.configuration = newValue } }
    }

    /// From now on pushes to this token fail for that reason: `Unregistered`, … (GORUSH.md §6). Nil: they succeed again.
    ///
    /// - Parameter topic: the bundle id with which they do; nil: any.
    package func fail(token: String, topic: String? = nil, with error: String?) {
        state.withLock { $0.failures[Target(token: token, topic: topic)] = error }
    }

    /// From now on pushes for this bundle id fail, whatever the token.
    package func fail(topic: String, with error: String?) {
        state.withLock { $0.failures[Target(token: nil, topic: topic)] = error }
    }

    struct Target: Hashable {
        var token: String?
        var topic: String?
    }

    /// From now on posts with a notification for these platforms get this, and nothing of them is sent on. Nil: they are answered again.
    package func breakDown(_ misbehaviour: Misbehaviour?, platforms: Set<Int> = [1, 2]) {
        state.withLock { $0.outage = misbehaviour.map { ($0, platforms) } }
    }

    /// From now on a batch with this token is refused whole, as one with a wrong type in it is.
    package func refuse(token: String) {
        state.withLock { _ = $0.poison.insert(token) }
    }

    /// For the next post that has no misbehaviour yet.
    ///
    /// - Parameter takesBatch: whether the notifications are sent on all the same.
    package func next(_ misbehaviour: Misbehaviour, takesBatch: Bool = false) {
        state.withLock { $0.script.append((misbehaviour, takesBatch)) }
    }

    /// Returns when so many notifications have been taken in all.
    @discardableResult
    package func waitForNotifications(count: Int) async -> [StubNotification] {
        await notifications.wait(for: count)
    }

    /// Serves until cancelled or shut down.
    package func run() async throws {
        let application = Application(
            responder: CallbackResponder<StubGorushContext> { request, context in
                try await self.respond(to: request, channel: context.channel)
            },
            server: .closing(),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: configuration.port)),
            onServerRunning: { channel in
                if let port = channel.localAddress?.port { self.addresses.append("http://127.0.0.1:\(port)") }
            },
            // Hummingbird calls every connection that ends by cancellation an error.
            logger: Logger(label: "stub-gorush") { _ in SwiftLogNoOpLogHandler() })
        try await application.run()
    }
}

/// Runs a stub for as long as the body does.
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
