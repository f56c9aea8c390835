package import ServiceLifecycle
package import Store
import TestSupport

/// Runs services during the body, shuts them down as SIGTERM would, and closes their store.
///
/// - Parameter isReady: A function that returns when the body may begin. It begins anyway when the services end, as after a failed start.
package func withRunning(
    _ services: [any Service], closing store: any PushStore, until isReady: @escaping @Sendable () async -> Void = {},
    _ body: () async throws -> Void
) async throws {
    let group = ServiceGroup(configuration: .init(services: services.map { .init(service: $0) }, logger: quietLogger))
    do {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask { await isReady() }
            try await tasks.next()
            try await body()
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    } catch {
        await store.close()
        throw error
    }
    await store.close()
}
