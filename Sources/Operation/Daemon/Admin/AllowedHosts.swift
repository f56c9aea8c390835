import Hummingbird
import NIOCore

/// The host names under which the admin endpoints respond. A browser that another site's name led here (DNS rebinding) has that name in its
/// requests, and is rejected.
///
/// IP addresses and `localhost` belong to no site. Probes and scrapers may use any name for health and metrics.
struct AllowedHosts: RouterMiddleware {
    private let names: Set<String>

    /// - Parameter names: The allowed host names in lower case.
    init(_ names: some Sequence<String>) {
        self.names = Set(names).union(["localhost"])
    }

    func handle(
        _ request: Request, context: BasicRequestContext, next: (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        let path = request.uri.path
        guard path == "/metrics" || path.hasPrefix("/health/") || allows(request.head.authority) else {
            let text = "The admin endpoints do not accept this host name; admin.allowedHosts lists those that they accept.\n"
            return Response(status: .misdirectedRequest, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
        }
        return try await next(request, context)
    }

    /// - Parameter authority: `name`, `name:port` or `[address]:port`, or nil for clients that don't send it, which can't be browsers.
    private func allows(_ authority: String?) -> Bool {
        guard let authority else { return true }
        let host = Self.host(of: authority)
        return names.contains(host.lowercased()) || (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }

    private static func host(of authority: String) -> String {
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            return String(authority[authority.index(after: authority.startIndex)..<end])
        }
        return String(authority.prefix { $0 != ":" })
    }
}
