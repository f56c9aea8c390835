import Synchronization

/// Whether the last write to the store worked.
final class StoreHealth: Sendable {
    private let failing = Atomic<Bool>(false)

    var isFailing: Bool { failing.load(ordering: .relaxed) }

    func succeeded() { failing.store(false, ordering: .relaxed) }

    func failed() { failing.store(true, ordering: .relaxed) }

    func observing<Result>(_ write: () async throws -> Result) async throws -> Result {
        do {
            let result = try await write()
            succeeded()
            return result
        } catch {
            failed()
            throw error
        }
    }
}
