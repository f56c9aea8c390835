import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

extension HTTPServerBuilder {
    /// An HTTP/1 server that may stop while a client connects, and that follows HTTP where SwiftNIO leaves it to the server
    /// (`RequestSemantics`).
    static func closing(_ configuration: HTTP1Channel.Configuration = .init()) -> HTTPServerBuilder {
        HTTPServerBuilder { ClosingChannel(base: HTTP1Channel(responder: $0, configuration: configuration)) }
    }
}

/// An HTTP/1 channel that closes connections which nobody handles.
///
/// A server that stops while a client connects drops the connection before it handles it, and NIO ends the process when it finds a dropped
/// connection's writer unfinished (`NIOAsyncWriter`).
private struct ClosingChannel: ServerChildChannel {
    let base: HTTP1Channel

    final class Connection: ServerChildChannelValue {
        let value: HTTP1Channel.Value
        private let isHandled = Atomic(false)

        init(_ value: HTTP1Channel.Value) { self.value = value }

        deinit {
            guard !isHandled.load(ordering: .relaxed) else { return }
            Task { [value] in try? await value.executeThenClose { _, _ in } }
        }

        var channel: any Channel { value.channel }

        func handled() { isHandled.store(true, ordering: .relaxed) }
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Connection> {
        base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(RequestSemantics(), position: .after(decoder))
            return Connection(value)
        }
    }

    func handle(value: Connection, logger: Logger) async {
        value.handled()
        await base.handle(value: value.value, logger: logger)
    }
}
