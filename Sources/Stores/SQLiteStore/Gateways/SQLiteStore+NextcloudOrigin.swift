package import Store

extension SQLiteStore: OriginStore {
    package func waitingProxies() async throws -> [WaitingProxy] {
        try await read { try $0.waitingProxies(of: nil) }
    }
}
