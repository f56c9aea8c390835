package import Envelope
import Foundation
import HTTPServing
import HTTPTypes
import Hummingbird
import JSON
import Logging
import NIOCore
import ServiceLifecycle
import Tasks

/// A gorush that sends nothing to anyone: it accepts what the tested server posts, and keeps it for the rules.
///
/// The stub responds like gorush 1.22 with `core.sync: true` and refuses what gorush refuses (GORUSH.md §1 and §2).
package final class GorushStub: Sendable {
    /// The kit's largest batch of pushes takes a few kilobytes.
    private static let maximumBodyByteCount = 1 << 20
    /// gorush's default of `core.max_notification`.
    private static let maximumNotificationCount = 100
    /// How long a response in progress may take. A server that keeps its connections longer is cut off.
    private static let maximumShutdownDuration = Duration.seconds(2)

    private struct State {
        var notifications: [GorushNotification] = []
        /// When each notification arrived.
        var arrivals: [Timestamp] = []
        var refusals: [String] = []
    }

    private struct Batch: Decodable {
        let notifications: [GorushNotification]
    }

    private let state = Monitor(State())
    private let wallClock: WallClock

    private init(wallClock: WallClock) {
        self.wallClock = wallClock
    }

    /// A stub's address cannot be bound.
    package struct ListenFailure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Runs a stub as long as a body.
    ///
    /// - Parameters:
    ///   - port: The port. 0 selects any free port.
    ///   - body: Receives the stub and its bound address, `host:port`.
    /// - Throws: ``ListenFailure``, or the body's error.
    package static func serving<Result: Sendable>(
        host: String, port: Int, wallClock: WallClock = .system,
        _ body: @escaping @Sendable (GorushStub, _ address: String) async throws -> Result
    ) async throws -> Result {
        let stub = GorushStub(wallClock: wallClock)
        let (addresses, continuation) = AsyncStream.makeStream(of: String.self)
        let service = stub.service(host: host, port: port) { continuation.yield($0) }
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                do {
                    try await service.run()
                } catch {
                    throw ListenFailure(description: "cannot listen on \(host):\(port): \(error)")
                }
                return nil
            }
            group.addTask {
                for await address in addresses { return try await body(stub, address) }
                return nil
            }
            defer { group.cancelAll() }
            // The stub ends before the body only by an error or a cancellation.
            guard case .some(.some(let result)) = try await group.next() else { throw CancellationError() }
            // A cancellation while the tested server connects would end the process inside NIO.
            await service.triggerGracefulShutdown()
            _ = try? await group.next()
            return result
        }
    }

    /// Why the newest refused post was refused, or nil if none was.
    var refusal: String? { state.read(\.refusals.last) }

    func notifications(to deviceToken: String) -> [GorushNotification] {
        state.read { $0.notifications.filter { $0.tokens.contains(deviceToken) } }
    }

    /// Returns when a device had that many notifications, or nil if it has fewer.
    func arrival(of count: Int, to deviceToken: String) -> Timestamp? {
        state.read { state in
            zip(state.notifications, state.arrivals).filter { $0.0.tokens.contains(deviceToken) }.dropFirst(count - 1).first?.1
        }
    }

    /// Returns when the notification about a message arrived, or nil if none has.
    func arrival(of message: [UInt8]) -> Timestamp? {
        state.read { state in zip(state.notifications, state.arrivals).first { $0.0.isAbout(message) }?.1 }
    }

    /// Waits for the notification about a message.
    ///
    /// - Returns: The notification, or nil if the task was cancelled first.
    func wait(for message: [UInt8]) async -> GorushNotification? {
        await state.wait { $0.notifications.first { $0.isAbout(message) } }
    }

    /// Waits for a number of notifications to a device.
    ///
    /// - Returns: The notifications, or nil if the task was cancelled first.
    func wait(for count: Int, to deviceToken: String) async -> [GorushNotification]? {
        await state.wait { state in
            let notifications = state.notifications.filter { $0.tokens.contains(deviceToken) }
            return notifications.count >= count ? notifications : nil
        }
    }

    /// Waits for more notifications to any device than expected, or until the task is cancelled.
    ///
    /// - Parameter counts: The expected number for each device token.
    func waitForMore(than counts: [String: Int]) async {
        await state.wait { state in
            counts.contains { deviceToken, count in state.notifications.count { $0.tokens.contains(deviceToken) } > count } ? () : nil
        }
    }

    private func service(host: String, port: Int, onListening: @escaping @Sendable (_ address: String) -> Void) -> ServiceGroup {
        let logger = Logger(label: "gorush-stub") { _ in SwiftLogNoOpLogHandler() }
        let listener = HTTPListener(
            host: host, port: port,
            responder: CallbackResponder<BasicRequestContext> { request, _ in try await self.respond(to: request) }, logger: logger,
            onListening: onListening)
        var configuration = ServiceGroupConfiguration(services: [listener], logger: logger)
        configuration.maximumGracefulShutdownDuration = Self.maximumShutdownDuration
        return ServiceGroup(configuration: configuration)
    }

    private func respond(to request: Request) async throws -> Response {
        switch (request.method, request.uri.path) {
        case (.post, "/api/push"):
            push(try await Array(buffer: request.body.collect(upTo: Self.maximumBodyByteCount)))
        case (.get, "/healthz"), (.head, "/healthz"): Response(status: .ok)
        case (.get, "/api/config"): text(Self.configuration, type: "application/x-yaml; charset=utf-8")
        case (.get, "/version"):
            text(#"{"source":"https://github.com/appleboy/gorush","version":"v1.22.0"}"#)
        default: text("404 page not found", type: "text/plain", status: .notFound)
        }
    }

    private func push(_ body: [UInt8]) -> Response {
        guard let batch = try? JSON.decode(Batch.self, from: body) else {
            return refuse("Missing notifications field.")
        }
        guard !batch.notifications.isEmpty else { return refuse("Notifications field is empty.") }
        guard batch.notifications.count <= Self.maximumNotificationCount else {
            return refuse("Number of notifications(\(batch.notifications.count)) over limit(\(Self.maximumNotificationCount))")
        }
        let accepted = batch.notifications.filter { [1, 2].contains($0.platform) }
        let now = wallClock.now()
        state.update { state in
            state.notifications += accepted
            state.arrivals += accepted.map { _ in now }
        }
        // A topic that is not empty counts too (GORUSH.md §2.3).
        let count = accepted.reduce(0) { $0 + $1.tokens.count + ($1.topic?.isEmpty ?? true ? 0 : 1) }
        return text(#"{"counts":\#(count),"logs":[],"success":"ok"}"#)
    }

    private func refuse(_ reason: String) -> Response {
        state.update { $0.refusals.append(reason) }
        return text(#"{"code":400,"message":"\#(reason)"}"#, status: .badRequest)
    }

    private func text(
        _ text: String, type: String = "application/json; charset=utf-8", status: HTTPTypes.HTTPResponse.Status = .ok
    ) -> Response {
        Response(status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    private static let configuration = """
        core:
          enabled: true
          sync: true
          max_notification: \(maximumNotificationCount)
          worker_num: 96
          queue_num: 8192
        android:
          enabled: true
          max_retry: 0
        ios:
          enabled: true
          production: true
          max_concurrent_pushes: 100
          max_retry: 0
        queue:
          engine: "local"
        log:
          hide_token: true

        """
}
