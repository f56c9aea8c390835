package import Store

extension SQLiteStore: OriginStore {
    package func waitingProxies() async throws -> [WaitingProxy] {
        try await read { try $0.waitingProxies(of: nil) }
    }

    package func waitingOriginPushes(to proxy: String, limit: Int) async throws -> [WaitingOriginPush] {
        try await read { [sealing] in try $0.waitingOriginPushes(to: proxy, of: nil, limit: limit, sealing) }
    }
}
