import Bytes
package import Envelope
import Foundation
import Hummingbird
import JSON
package import Logging
import ServiceLifecycle
import StatusCrypto
import Synchronization
import TestSupport
package import Transport
import WakuREST
import Wire

/// A relay with faults that a test chooses. Without faults it behaves as `RelayServer`.
///
/// HTTP requests set the faults too: `POST /faults` with `RelayFaults` in JSON, and `POST /faults/restart`.
package struct MisbehavingRelay: Service {
    private let configuration: RelayServer.Configuration
    private let bus: Bus
    private let clock: WallClock
    private let control: RelayControl
    private let logger: Logger
    private let onListening: @Sendable (String) async -> Void

    package init(
        configuration: RelayServer.Configuration, bus: Bus, clock: WallClock, control: RelayControl, logger: Logger,
        onListening: @escaping @Sendable (_ address: String) async -> Void
    ) {
        self.configuration = configuration
        self.bus = bus
        self.clock = clock
        self.control = control
        self.logger = logger
        self.onListening = onListening
    }

    package func run() async throws {
        // A file keeps the messages that survive a restart.
        let folder = try TemporaryFolder()
        var configuration = configuration
        configuration.archivePath = configuration.archivePath ?? folder.path("archive")
        let nodeClock = WallClock { [clock, control] in clock.now().advanced(by: control.faults.clockOffset) }
        let member = try FaultyMember(configuration, clock: nodeClock, control: control, logger: logger)
        control.attach(member)
        defer { control.detach() }
        let membership = bus.attach(listener: member)
        defer { membership.leave() }
        try await RelayServer.serve(configuration, logger: logger, onListening: onListening) { request, context in
            let response = await member.respond(to: request, publishing: membership.publish)
            return response.map { context.response(for: $0) } ?? Self.brokenOff
        }
    }

    /// A response whose connection closes before its end.
    private static var brokenOff: Response {
        Response(status: .ok, headers: [.contentLength: "1"], body: ResponseBody(contentLength: 1) { _ in throw BrokenOff() })
    }

    private struct BrokenOff: Error {}
}

/// A member of the bus that stands between a node and both the bus and the node's HTTP clients.
final class FaultyMember: BusListener {
    private struct State {
        var member: RelayMember
        /// The messages on their way to the node, in the order of their publication.
        var inFlight: [(arrival: Timestamp, envelope: WakuEnvelope)] = []
        var arrivalCount = 0
        var takenCount = 0
        /// What the node wrote to dead connections, with the times.
        var written: [Digest32: Timestamp] = [:]
    }

    /// How long the node drops repeated bytes as seen.
    private static let seenTime = Duration.seconds(120)

    private struct Dropped: Error {}

    private let state: Mutex<State>
    private let control: RelayControl
    private let clock: WallClock
    private let makeMember: @Sendable () throws -> RelayMember

    init(_ configuration: RelayServer.Configuration, clock: WallClock, control: RelayControl, logger: Logger) throws {
        makeMember = { try RelayMember(configuration, clock: clock, logger: logger) }
        state = Mutex(State(member: try makeMember()))
        self.control = control
        self.clock = clock
    }

    func restart() throws {
        let member = try makeMember()
        state.withLock { $0 = State(member: member) }
    }

    func synchronize(_ envelope: WakuEnvelope) { member.synchronize(envelope) }

    private var member: RelayMember { state.withLock { $0.member } }

    // MARK: Messages from the bus

    func receive(_ envelope: WakuEnvelope) {
        guard control.faults.hasPeers else { return }
        let delay = control.faults.delay
        guard delay > .zero else { return arrive(envelope) }
        state.withLock { $0.inFlight.append((clock.now().advanced(by: delay), envelope)) }
    }

    private func arrive(_ envelope: WakuEnvelope) {
        if !dropsNext() { member.receive(envelope) }
    }

    private func dropsNext() -> Bool {
        let every = control.faults.dropEvery
        return state.withLock { state in
            state.arrivalCount += 1
            return Self.befalls(state.arrivalCount, every)
        }
    }

    private static func befalls(_ count: Int, _ every: Int) -> Bool {
        every > 0 && count.isMultiple(of: every)
    }

    // MARK: HTTP requests

    /// Responds to a request.
    ///
    /// - Returns: The response, or nil to close the connection without one.
    func respond(to request: RelayRequest, publishing publish: (WakuEnvelope) async throws -> Void) async -> RelayResponse? {
        if request.target.hasPrefix("/faults") { return obey(request) }
        let now = clock.now()
        let arrived = state.withLock { state in
            defer { state.inFlight.removeAll { $0.arrival <= now } }
            return state.inFlight.filter { $0.arrival <= now }
        }
        for (_, envelope) in arrived { arrive(envelope) }

        if request.publishes { await control.holdWhileSilent() }
        let faults = control.faults
        var request = request
        if faults.hasStoreOfPeer { request.target = request.target.replacing(/&peerAddr=[^&]*/, with: "") }
        let response = await answer(to: request, publishing: publish, faults)
        if faults.losesAnswers, request.takesMessages { return nil }
        return response
    }

    private func answer(
        to request: RelayRequest, publishing publish: (WakuEnvelope) async throws -> Void, _ faults: RelayFaults
    ) async -> RelayResponse {
        if let refusal = faults.refusal(of: request) { return faults.isGoWaku ? GoWakuDialect.response(refusal) : refusal }
        var isDropped = false
        var response = await member.respond(to: request) { envelope in
            guard passes(envelope, faults) else { return }  // a node stores and delivers its own message all the same
            try await publish(envelope)
            isDropped = dropsNext()
            if isDropped { throw Dropped() }
        }
        if isDropped { response = .ok }
        if request.publishes, response == .ok, faults.publishing == .timedOutButSent {
            response = .error(500, "Failed to publish: timedout")
        }
        if request.takesMessages, response.status == 200, let messages = NodeResponse.messages(in: response.body) {
            let changed = change(messages, faults)
            return .json(faults.isGoWaku ? GoWakuDialect.messages(changed) : NodeResponse.messages(changed))
        }
        return faults.isGoWaku ? GoWakuDialect.response(response) : response
    }

    /// Whether the node passes a message of its own client on.
    private func passes(_ envelope: WakuEnvelope, _ faults: RelayFaults) -> Bool {
        let now = clock.now()
        return state.withLock { state in
            if !faults.hasPeers, faults.reportsPeers { state.written[envelope.hash] = now }
            return faults.hasPeers && (state.written[envelope.hash].map { $0.advanced(by: Self.seenTime) <= now } ?? true)
        }
    }

    private func change(_ messages: [WakuMessage], _ faults: RelayFaults) -> [WakuMessage] {
        var messages = state.withLock { state in
            messages.filter { _ in
                state.takenCount += 1
                return !Self.befalls(state.takenCount, faults.evictEvery)
            }
        }
        if faults.copies != 1 { messages = messages.flatMap { repeatElement($0, count: faults.copies) } }
        if faults.isReversed { messages.reverse() }
        return messages
    }

    private func obey(_ request: RelayRequest) -> RelayResponse {
        do {
            switch (request.method, request.target) {
            case ("POST", "/faults"): control.faults = try JSONDecoder().decode(RelayFaults.self, from: Data(request.body))
            case ("POST", "/faults/restart"): try restart()
            default: return .error(404, "no such fault")
            }
            return .ok
        } catch {
            return .error(400, "\(error)")
        }
    }
}

extension RelayRequest {
    fileprivate var takesMessages: Bool { method == "GET" && target.hasPrefix("/relay/v1/messages/") }
    fileprivate var publishes: Bool { method == "POST" && target.hasPrefix("/relay/v1/messages/") }
}

extension RelayFaults {
    /// Returns the node's immediate rejection of a request, or nil if it handles the request.
    fileprivate func refusal(of request: RelayRequest) -> RelayResponse? {
        if isNotReady, Self.roots.contains(where: { request.target.hasPrefix("/\($0)/") }) { return .error(404) }
        if hasNoRelay, request.target.hasPrefix("/relay/") { return .error(404) }
        if request.target.hasPrefix("/store/") {
            if hasNoStore || asksPeersStore && !hasPeers { return .error(412, "No suitable service peer & none discovered") }
            if isGoWaku, !GoWakuDialect.canAnswer(request) { return .error(400, "pubsubTopic and contentTopics are required") }
            if keepsNothing || losesItsWay && request.target.contains("cursor=") { return .json(Self.emptyPage) }
        }
        if request.target == "/health" {
            return isGoWaku ? GoWakuDialect.health : .json(healthResponse)
        }
        if let notFound, request.takesMessages { return .error(404, notFound) }
        guard request.publishes else { return nil }
        return switch publishing {
        case .refused: .error(400, "Failed to publish: RLN validation failed")
        case .timedOut: .error(500, "Failed to publish: timedout")
        case .quotaExhausted:
            .error(
                500,
                "Failed to publish: could not get new message id to generate an rln proof: NonceLimitReached: Nonce limit reached. "
                    + "Please wait for the next epoch. requested nonce: 100 & nonceLimit: 100")
        case .normal, .timedOutButSent, .silent: nil
        }
    }

    private var healthResponse: String {
        let relay = hasNoRelay ? #""NOT_MOUNTED""# : reportsPeers ? #""READY""# : #""NOT_READY","desc":"No connected peers""#
        return NodeResponse.health(
            node: isNotReady ? "INITIALIZING" : health, relay: relay, store: hasNoStore || asksPeersStore ? "NOT_MOUNTED" : "READY")
    }

    private static let roots = ["admin", "debug", "relay", "filter", "lightpush", "store", "messaging"]
    private static let emptyPage = #"{"requestId":"","statusCode":200,"statusDesc":"OK","messages":[]}"#
}

extension NodeResponse {
    /// Returns the messages in a node's response to a GET.
    fileprivate static func messages(in body: String) -> [WakuMessage]? {
        try? JSONReader.read(Array(body.utf8)) { reader throws(JSONError) in
            var messages: [WakuMessage] = []
            try reader.readArray { reader throws(JSONError) in
                if let message = try MessageJSON(reading: &reader, as: .answer).decoded() { messages.append(message) }
            }
            return messages
        }
    }
}
