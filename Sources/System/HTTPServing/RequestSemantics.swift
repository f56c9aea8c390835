import NIOCore
import NIOHTTP1

/// What HTTP/1.1 requires from servers and SwiftNIO leaves to them: the interim response to `Expect: 100-continue` (RFC 9110 §10.1.1), and
/// responses to HEAD without a body (§9.3.2).
///
/// A client that expects an interim response waits for it before it sends its body: curl waits a second, and others wait for ever.
final class RequestSemantics: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private struct Request {
        var isHead: Bool
        var expectsContinue: Bool

        init(_ head: HTTPRequestHead) {
            isHead = head.method == .HEAD
            // HTTP/1.0 clients do not know interim responses.
            expectsContinue = head.version == .http1_1 && head.headers["Expect"].contains { $0.lowercased() == "100-continue" }
        }
    }

    /// The requests without a complete response, in their order: a client may send several.
    private var requests: [Request] = []
    /// The head when responding to HEAD, and its body's length so far.
    private var headResponse: (head: HTTPResponseHead, byteCount: Int)?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) {
            requests.append(Request(head))
            if requests.count == 1 { sendContinueIfExpected(context) }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let part = unwrapOutboundIn(data)
        guard requests.first?.isHead == true else {
            context.write(data, promise: promise)
            if case .end = part { complete(context) }
            return
        }
        switch part {
        case .head(let head):
            headResponse = (head, 0)
            promise?.succeed()
        case .body(let body):
            headResponse?.byteCount += body.readableBytes
            promise?.succeed()
        case .end:
            if let (response, byteCount) = headResponse {
                var head = response
                if !head.headers.contains(name: "Content-Length") { head.headers.add(name: "Content-Length", value: String(byteCount)) }
                context.write(wrapOutboundOut(.head(head)), promise: nil)
            }
            headResponse = nil
            context.write(data, promise: promise)
            complete(context)
        }
    }

    private func complete(_ context: ChannelHandlerContext) {
        // If a request could not be read, it is missing here.
        guard !requests.isEmpty else { return }
        requests.removeFirst()
        sendContinueIfExpected(context)
    }

    private func sendContinueIfExpected(_ context: ChannelHandlerContext) {
        guard requests.first?.expectsContinue == true else { return }
        context.writeAndFlush(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
    }
}
