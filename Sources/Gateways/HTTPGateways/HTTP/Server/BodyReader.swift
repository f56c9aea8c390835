import Hummingbird
import HummingbirdCore
import NIOCore
import Tasks

/// Reads request bodies within the limits that their gateway and ``BodyPace`` set.
struct BodyReader: Sendable {
    private let clock: any Clock<Duration>
    private let elapsed: @Sendable () -> Duration

    init(clock: some Clock<Duration>) {
        self.clock = clock
        elapsed = clock.stopwatch()
    }

    /// Returns the whole body.
    ///
    /// - Throws: `.incomplete` if the connection breaks, the body is too slow or the task is cancelled.
    func read(_ body: RequestBody, _ limit: GatewayRequest.BodyLimit) async throws(GatewayRequest.BodyError) -> [UInt8] {
        let pace = Monitor(BodyPace(at: elapsed()))
        do {
            return try await withThrowingTaskGroup(of: [UInt8].self) { group in
                group.addTask { try await collect(body, limit, pace) }
                group.addTask {
                    await waitForStall(pace)
                    throw GatewayRequest.BodyError.incomplete
                }
                defer { group.cancelAll() }
                guard let bytes = try await group.next() else { throw GatewayRequest.BodyError.incomplete }
                return bytes
            }
        } catch let error as GatewayRequest.BodyError {
            throw error
        } catch {
            throw .incomplete
        }
    }

    private func collect(_ body: RequestBody, _ limit: GatewayRequest.BodyLimit, _ pace: Monitor<BodyPace>) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        var isLong = false
        for try await buffer in body {
            guard bytes.count + buffer.readableBytes <= limit.maximumByteCount else { throw GatewayRequest.BodyError.tooLarge }
            bytes += buffer.readableBytesView
            pace.update { $0.receive(buffer.readableBytes) }
            if !isLong, bytes.count > limit.shortByteCount {
                isLong = true
                pace.update { $0.wait() }
                try await limit.admit()
                pace.update { $0.admit(at: elapsed()) }
            }
        }
        return bytes
    }

    private func waitForStall(_ pace: Monitor<BodyPace>) async {
        // A wait that finds a deadline immediately does not notice a cancellation.
        while !Task.isCancelled, let deadline = await pace.wait(for: { $0.deadline }) {
            // The deadline becomes earlier when the body becomes long.
            let change: Void?? = await withTimeout(after: { try await clock.sleep(for: deadline - elapsed()) }) {
                await pace.wait { $0.deadline == deadline ? nil : () }
            }
            if change == nil, pace.update({ $0.isTooSlow(at: elapsed()) }) { return }
        }
    }
}
