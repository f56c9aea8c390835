import Bytes
import Envelope
import HTTPClient
import Logging
import Store

/// `POST /notify`, by which the operator's backend reports events (GATEWAY_PROTOCOLS.md §4.5, §4.6).
extension NextcloudOrigin {
    func notify(_ request: GatewayRequest) async throws -> GatewayResponse {
        guard request.method == "POST" else { return .text(405, "Method Not Allowed") }
        let shown = request.headers["Authorization"] ?? ""
        guard ConstantTime.equal(Array(shown.utf8), Array("Bearer \(configuration.backendToken)".utf8)) else {
            return .text(401, "Unauthorized")
        }
        guard let asked = NoticeRequest(try await request.body(upTo: NoticeRequest.maximumByteCount)) else { return .badRequest }
        switch asked.event {
        case .notice(let notice):
            try await send(notice, to: asked.user)
        case .revoked(let tokens):
            try await store.changeOriginDevices(of: asked.user) { (OriginChange(removed: $0.map(\.tokenID).filter(tokens.contains)), ()) }
        }
        return .json(202, "{}")
    }

    private func send(_ notice: Notice, to user: String) async throws {
        let now = wallClock.read().stamp
        let devices = notice.choose(from: OriginDevice.reachable(try await store.originDevices(of: user), at: now))
        guard !devices.isEmpty, let key = try await keys.find(user) else { return }
        var pushes: [OriginPush] = []
        for device in devices {
            for payload in notice.payloads(for: device.appType) {
                // A signature takes a millisecond, and a request may need thousands: other tasks run in between.
                await Task.yield()
                if let push = OriginPush(payload, to: device, signedBy: key, padding: configuration.padding, at: now) {
                    pushes.append(push)
                } else {
                    failures.report("notifications are too long for their devices' keys, and dropped", level: .warning)
                    metrics.count(.tooLong, 1)
                }
            }
        }
        try await store.acceptOriginPushes(pushes, of: user)
        let hasCall = pushes.contains { $0.kind == .voip }
        onWaiting(Set(devices.map(\.proxy)).map { WaitingProxy(proxy: $0, user: user, hasCall: hasCall) })
    }
}
