package import ServiceLifecycle

/// Runs a service on a loopback port during the body.
///
/// - Parameters:
///   - makeService: A function that creates the service. The service calls the argument with `HOST:PORT` once it listens.
///   - body: A function of the URL of the service.
/// - Throws: The error of the service if it never listens, or else the error of the body.
package func withListeningService<Result>(
    _ makeService: (_ onListening: @escaping @Sendable (String) -> Void) throws -> any Service,
    _ body: (_ url: String) async throws -> Result
) async throws -> Result {
    let (addresses, continuation) = AsyncStream.makeStream(of: String.self)
    let service = try makeService { continuation.yield($0) }
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            defer { continuation.finish() }
            try await service.run()
        }
        var iterator = addresses.makeAsyncIterator()
        guard let address = await iterator.next() else {
            try await group.waitForAll()
            throw CancellationError()
        }
        let result = try await body("http://\(address)")
        group.cancelAll()
        try? await group.waitForAll()  // `run` ends by cancellation
        return result
    }
}
