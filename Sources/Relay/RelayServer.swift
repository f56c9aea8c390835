package import Envelope
import HTTPTypes
import Hummingbird
import HummingbirdCore
package import Logging
package import MessageBus
import NIOCore
import ServiceLifecycle

/// The embedded stand-in for a Waku node: `RelayMember` behind HTTP, one of any number on a bus.
///
/// Like two nodes in life, two servers have each their own cache and subscriptions, and a GET drains only the one that is asked.
package struct RelayServer: Service {
    package struct Configuration: Sendable {
        package var host: String
        /// 0: any free port.
        package var port: Int
        /// Subscribed to from the start; each has to be a static shard (`PubsubTopic`).
        package var pubsubTopics: [String]
        /// Messages kept for the next GET, all topics together.
        package var cacheCapacity: Int
        /// Of a message as protobuf.
        package var maximumMessageByteCount: Int
        /// Where the store is kept beyond the end of the process; nil: nowhere.
        package var archivePath: String?
        /// For tests: `/faults` is there (`FaultsRequest`).
        package var allowsFaults: Bool

        package init(
            host: String = "127.0.0.1",
            port: Int = 0,
            pubsubTopics: [String] = [],
            cacheCapacity: Int = Self.defaultCacheCapacity,
            maximumMessageByteCount: Int = Self.defaultMaximumMessageByteCount,
            archivePath: String? = nil,
            allowsFaults: Bool = false
        ) {
            self.host = host
            self.port = port
            self.pubsubTopics = pubsubTopics
            self.cacheCapacity = cacheCapacity
            self.maximumMessageByteCount = maximumMessageByteCount
            self.archivePath = archivePath
            self.allowsFaults = allowsFaults
        }

        /// nwaku's (WAKU_REST.md §2.1).
        package static var defaultCacheCapacity: Int { MessageCache.defaultCapacity }
        /// As the Status fleet has it (WAKU_REST.md §2.2).
        package static var defaultMaximumMessageByteCount: Int { RelayMember.defaultMaximumMessageByteCount }
    }

    /// nwaku's limit (WAKU_REST.md §0).
    static let maximumBodyByteCount = 16 << 20
    /// A quarter of the file descriptors that a process commonly gets; further connections wait to be accepted.
    static let maximumConnectionCount = 256
    /// For a peer that sends nothing, or does not read its answer's end.
    static let idleTimeout = TimeAmount.seconds(60)

    private let configuration: Configuration
    private let bus: Bus
    private let clock: WallClock
    private let control: RelayControl
    private let logger: Logger
    private let onListening: @Sendable (String) async -> Void

    /// - Parameters:
    ///   - control: for tests, to misbehave while it runs.
    ///   - onListening: gets the address that was bound, `host:port`, as soon as requests are answered.
    package init(
        configuration: Configuration, bus: Bus, clock: WallClock, control: RelayControl = RelayControl(), logger: Logger,
        onListening: @escaping @Sendable (_ address: String) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.bus = bus
        self.clock = clock
        self.control = control
        self.logger = logger
        self.onListening = onListening
    }

    /// Serves until the task is cancelled or shut down gracefully.
    ///
    /// - Throws: if the address cannot be bound, or the archive's file not be opened.
    package func run() async throws {
        let member = try makeMember()
        control.attach(member)
        defer { control.detach() }
        let membership = bus.attach(listener: member)
        defer { membership.leave() }
        let application = Application(
            responder: CallbackResponder<RelayContext> { request, context in
                await respond(to: request, member, membership).map { context.response(for: $0) } ?? context.hangUp()
            },
            server: .http1(configuration: .init(idleTimeout: Self.idleTimeout)),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port),
                availableConnectionsDelegate: MaximumAvailableConnections(Self.maximumConnectionCount)),
            onServerRunning: { channel in
                guard let address = channel.localAddress, let host = address.ipAddress, let port = address.port else { return }
                member.isListening(host: host, port: port)
                await onListening(host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
            },
            logger: logger)
        try await application.run()
    }

    private func makeMember() throws -> RelayMember {
        let saved = try configuration.archivePath.map { try ArchiveFile.open(path: $0) }
        return RelayMember(
            node: RelayNode(
                pubsubTopics: configuration.pubsubTopics, cacheCapacity: configuration.cacheCapacity,
                archive: saved?.archive ?? MessageArchive()),
            maximumMessageByteCount: configuration.maximumMessageByteCount, clock: clock, control: control
        ) { [logger] envelope in
            do {
                try saved?.file.append(envelope)
            } catch {
                logger.error("a message is not in the archive's file", metadata: ["error": "\(error)"])
            }
        }
    }

    /// - Returns: nil when the connection is to end without an answer.
    private func respond(to request: Request, _ member: RelayMember, _ membership: BusMembership) async -> RelayResponse? {
        let body: ByteBuffer
        do {
            body = try await request.body.collect(upTo: Self.maximumBodyByteCount)
        } catch {
            return .error(error is NIOTooManyBytesError ? 413 : 400)
        }
        let question = RelayRequest(
            method: request.method.rawValue, target: request.head.path ?? "", contentType: request.headers[.contentType],
            body: Array(buffer: body))
        if configuration.allowsFaults, question.target.hasPrefix(FaultsRequest.path) { return FaultsRequest.handle(question, control) }
        switch member.handle(question) {
        case .answer(let response): return response
        case .publish(let envelope): return await publish(envelope, member, membership)
        case .hangUp: return nil
        }
    }

    /// 200 only if the server recorded the message; a node hears itself, too (WAKU_REST.md §2.1).
    private func publish(_ envelope: WakuEnvelope, _ member: RelayMember, _ membership: BusMembership) async -> RelayResponse {
        do {
            try await membership.publish(envelope)
        } catch let error as NotRecording {
            return .error(503, "Failed to publish: \(error)")
        } catch {
            logger.warning("message not recorded", metadata: ["error": "\(error)"])
            return .error(500, "Failed to publish: the server could not record the message")
        }
        member.hear(envelope)
        let faults = member.faults
        guard faults.publishing != .timedOutButSent else { return .error(500, "Failed to publish: timedout") }
        return faults.isGoWaku ? GoWakuDialect.response(.ok) : .ok
    }
}
