import HTTPTypes
package import Hummingbird
import NIOCore

/// A request's context, with its connection, which the relay closes after the response, as nwaku does (WAKU_REST.md §0).
package struct RelayContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    private let channel: any Channel

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// The address that accepted the connection, as a multiaddress.
    var listenAddress: String {
        guard let address = channel.localAddress, let host = address.ipAddress, let port = address.port else { return "" }
        return "/\(host.contains(":") ? "ip6" : "ip4")/\(host)/tcp/\(port)"
    }

    package func response(for response: RelayResponse) -> Response {
        let body = ByteBuffer(string: response.body)
        let headers: HTTPFields = [
            .contentType: response.contentType.rawValue,
            .contentLength: String(body.readableBytes),
            .connection: "close",
        ]
        return Response(
            status: HTTPResponse.Status(code: response.status), headers: headers,
            body: ResponseBody(contentLength: body.readableBytes) { [channel] writer in
                try await writer.write(body)
                try await writer.finish(nil)
                channel.close(mode: .output, promise: nil)  // half-closed after the response, so that the peer reads to the end
            })
    }
}
