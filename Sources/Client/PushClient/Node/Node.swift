package import Envelope
public import Logging

/// A node that carries messages. All clients in a program share it.
///
///     let node = Node(transport: myNode)
///     let node = Node(url: "http://127.0.0.1:8645")  // with PushClientREST
public struct Node: Sendable {
    /// The shard of Status clients and push servers.
    public static let defaultPubsubTopic = "/waku/2/rs/16/32"
    /// The maximum message size of Status' nodes: 1 MiB (WAKU_REST.md §2.2).
    public static let defaultMaximumMessageByteCount = 1 << 20

    /// A logger that drops everything.
    public static let silentLogger = Logger(label: "PushClient") { _ in SwiftLogNoOpLogHandler() }

    package let exchange: Exchange
    package let segmenter: Segmenter
    let logger: Logger
    /// Returns a random number generator for each operation.
    let makeRandom: @Sendable () -> Randomness
    /// Throws when the named call of the app's should end. Only a test's node has such a watch.
    private let watch: (@Sendable (_ call: String) async throws -> Void)?
    /// Whether the task belongs to a call that is watched.
    @TaskLocal private static var isWatched = false

    /// Takes a transport. Nothing is sent until a client is called.
    ///
    /// - Parameters:
    ///   - transport: The app's node, or a connection to a node.
    ///   - pubsubTopic: The servers' shard.
    ///   - maximumMessageByteCount: The node's maximum message size in bytes, at least 4. Messages longer than three quarters of it are
    ///     sent in segments.
    ///   - limits: How long the clients wait for the transport and for their states.
    ///   - logger: Where the clients log what they do and what fails, without tokens, keys and messages. Nothing is logged by default.
    ///   - clock: The clock that measures all waiting.
    public init(
        transport: any NodeTransport, pubsubTopic: String = defaultPubsubTopic,
        maximumMessageByteCount: Int = defaultMaximumMessageByteCount, limits: CallLimits = CallLimits(),
        logger: Logger = silentLogger, clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.init(
            transport: transport, pubsubTopic: pubsubTopic, segmenter: Segmenter(maximumMessageByteCount: maximumMessageByteCount),
            limits: limits, logger: logger, clock: clock, wallClock: .system)
    }

    /// - Parameters:
    ///   - limitClock: The clock that measures the limits, or nil for `clock`.
    ///   - watch: Runs beside each call of the app's, and ends it by throwing.
    package init(
        transport: any NodeTransport, pubsubTopic: String, segmenter: Segmenter = Segmenter(), limits: CallLimits = CallLimits(),
        logger: Logger = silentLogger, clock: any Clock<Duration>, limitClock: (any Clock<Duration>)? = nil, wallClock: WallClock,
        makeRandom: @escaping @Sendable () -> Randomness = { Randomness() },
        watch: (@Sendable (_ call: String) async throws -> Void)? = nil
    ) {
        exchange = Exchange(
            transport: transport, pubsubTopic: pubsubTopic, clock: clock, wallClock: wallClock, limits: limits,
            limitClock: limitClock ?? clock)
        self.segmenter = segmenter
        self.logger = logger
        self.makeRandom = makeRandom
        self.watch = watch
    }

    package var now: Timestamp { exchange.wallClock.now() }

    /// Returns the value that `seal` creates with fresh randomness.
    func sealing<Sealed>(
        _ seal: (inout Randomness) throws(RFC26.DataTooLong) -> Sealed
    ) throws -> Sealed {
        var random = makeRandom()
        do {
            return try seal(&random)
        } catch {
            throw PushClientError.requestTooLong
        }
    }

    /// Performs a call of the app's, beside the watch of a test's node.
    func watching<Value: Sendable>(
        _ call: String = #function, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let watch, !Self.isWatched else { return try await body() }
        return try await Self.$isWatched.withValue(true) {
            try await withThrowingTaskGroup(of: Value?.self) { group in
                group.addTask { try await body() }
                group.addTask {
                    try await watch(call)
                    return nil
                }
                defer { group.cancelAll() }
                while let result = try await group.next() {
                    if let result { return result }
                }
                throw CancellationError()
            }
        }
    }
}
