import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Closes a connection whose client takes longer than ten seconds for a request's head, from the connection's beginning or the head's first
/// byte on. Until then nothing is known about the request, so no other limit applies to what the connection costs.
final class HeadTimeout: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    static let duration = Duration.seconds(10)

    private let clock: any Clock<Duration>
    private var timer: Task<Void, any Error>?
    /// The number of heads without a complete response.
    private var requestCount = 0
    /// Whether what has arrived since the last `channelReadComplete` was at least one part of a request.
    private var hasReadPart = false

    init(_ clock: any Clock<Duration>) {
        self.clock = clock
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { start(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        start(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hasReadPart = true
        if case .head = unwrapInboundIn(data) {
            requestCount += 1
            stop()
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Bytes without a part, and outside of a request, are the beginning of a head.
        if !hasReadPart, requestCount == 0 { start(context) }
        hasReadPart = false
        context.fireChannelReadComplete()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { requestCount -= 1 }
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        stop()
    }

    private func start(_ context: ChannelHandlerContext) {
        if timer == nil { timer = Self.timer(clock, closing: context.channel) }
    }

    private static func timer(_ clock: any Clock<Duration>, closing channel: any Channel) -> Task<Void, any Error> {
        Task {
            try await clock.sleep(for: duration)
            channel.close(promise: nil)
        }
    }

    private func stop() {
        timer?.cancel()
        timer = nil
    }
}
