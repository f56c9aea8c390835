import NIOCore
import Tasks

/// Tells when the client has ended its connection, or its half of it: while a request is in progress, no client has a reason to.
final class ConnectionEnd: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = Never

    private let hasEnded = Monitor(false)

    /// Returns when the client has ended the connection or when the task is cancelled.
    func wait() async {
        await hasEnded.wait { $0 ? () : nil }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent { hasEnded.update { $0 = true } }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        hasEnded.update { $0 = true }
        context.fireChannelInactive()
    }
}
