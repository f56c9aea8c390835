package import Hummingbird
import HummingbirdCore
package import Logging
package import NIOCore
import ServiceLifecycle

/// An HTTP/1 server on an address. All servers in this package listen this way.
package struct HTTPListener<Responder: HTTPResponder>: Service
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    private let application: Application<Responder>

    /// - Parameters:
    ///   - port: The port. 0 means any free port.
    ///   - maximumConnectionCount: The maximum number of connections. Further connections wait to be accepted. Nil means no limit.
    ///   - idleTimeout: The time after which a connection is closed whose peer sends nothing, or does not read its response.
    ///   - clock: Times heads (``HeadTimeout``).
    ///   - channelHandlers: Handlers for each connection, behind the handler that parses requests.
    ///   - onListening: Receives the bound address, `host:port`, as soon as the server responds to requests.
    package init(
        host: String, port: Int, maximumConnectionCount: Int? = nil, idleTimeout: TimeAmount? = nil,
        clock: any Clock<Duration> = ContinuousClock(),
        channelHandlers: @autoclosure @escaping @Sendable () -> [any RemovableChannelHandler] = [], responder: Responder, logger: Logger,
        onListening: @escaping @Sendable (_ address: String) async -> Void
    ) {
        application = Application(
            responder: responder,
            server: .closing(
                HTTP1Channel.Configuration(
                    additionalChannelHandlers: [HeadTimeout(clock)] + channelHandlers(), idleTimeout: idleTimeout)),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                availableConnectionsDelegate: maximumConnectionCount.map { MaximumAvailableConnections($0) }),
            onServerRunning: { channel in
                guard let address = channel.localAddress, let host = address.ipAddress, let port = address.port else { return }
                await onListening(host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
            },
            logger: logger)
    }

    /// Serves until the task is cancelled or shut down gracefully.
    ///
    /// - Throws: An error if the address cannot be bound.
    package func run() async throws {
        try await application.run()
    }
}
