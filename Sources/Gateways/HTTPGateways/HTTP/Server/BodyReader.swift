import HTTPClient
import Hummingbird
import HummingbirdCore
import NIOCore
import Synchronization
import Tasks

/// Reads request bodies within the limits that their gateway, ``BodyPace`` and ``BodyBudget`` set.
final class BodyReader: Sendable {
    fileprivate let clock: any Clock<Duration>
    fileprivate let elapsed: @Sendable () -> Duration
    /// The bodies of which something has arrived, until their requests end.
    private let bodies: Mutex<(budget: BodyBudget, all: [ObjectIdentifier: IncomingBody])>

    /// - Parameter byteCount: The memory that all bodies share.
    init(clock: some Clock<Duration>, byteCount: Int) {
        self.clock = clock
        elapsed = clock.stopwatch()
        bodies = Mutex((BodyBudget(byteCount: byteCount), [:]))
    }

    /// Runs a request, during which its body takes memory.
    func withBody<Result>(_ body: RequestBody, from client: IPAddress, _ answer: (IncomingBody) async -> Result) async -> Result {
        let body = IncomingBody(body, from: client, self)
        defer {
            bodies.withLock { bodies in
                bodies.budget.end(body.id, from: client)
                bodies.all[body.id] = nil
            }
        }
        return await answer(body)
    }

    fileprivate func receive(_ byteCount: Int, of body: IncomingBody) {
        let cutOff = bodies.withLock { bodies in
            bodies.all[body.id] = body
            return bodies.budget.receive(byteCount, of: body.id, from: body.client).map { bodies.all[$0] }
        }
        for body in cutOff { body?.pace.update { $0.cutOff() } }
    }

    fileprivate func complete(_ body: IncomingBody) {
        bodies.withLock { $0.budget.complete(body.id, from: body.client) }
    }
}

/// A request's body.
final class IncomingBody: Sendable {
    fileprivate let client: IPAddress
    fileprivate let pace: Monitor<BodyPace>
    private let body: RequestBody
    private let reader: BodyReader
    private let isRead = Atomic(false)

    fileprivate init(_ body: RequestBody, from client: IPAddress, _ reader: BodyReader) {
        (self.body, self.client, self.reader) = (body, client, reader)
        pace = Monitor(BodyPace(at: reader.elapsed()))
    }

    fileprivate var id: ObjectIdentifier { ObjectIdentifier(self) }

    /// Whether the body was read to its end.
    var wasRead: Bool { isRead.load(ordering: .relaxed) }

    /// Returns the whole body.
    ///
    /// - Throws: `.incomplete` if the connection breaks, the body is too slow or the task is cancelled. `.crowdedOut` if all bodies
    ///   together take too much memory.
    func read(within limit: GatewayRequest.BodyLimit) async throws(GatewayRequest.BodyError) -> [UInt8] {
        do {
            return try await withThrowingTaskGroup(of: [UInt8].self) { group in
                group.addTask { try await self.collect(limit) }
                group.addTask {
                    await self.waitForStall()
                    throw self.pace.read(\.isCutOff) ? GatewayRequest.BodyError.crowdedOut : .incomplete
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

    private func collect(_ limit: GatewayRequest.BodyLimit) async throws -> [UInt8] {
        var (bytes, capacity) = ([UInt8](), 0)
        for try await buffer in body {
            let count = bytes.count + buffer.readableBytes
            guard count <= limit.maximumByteCount else { throw GatewayRequest.BodyError.tooLarge }
            // An array doubles its capacity, of which a slow body would leave the half unused.
            if count > bytes.capacity { bytes.reserveCapacity(count + bytes.count / 4) }
            bytes += buffer.readableBytesView
            pace.update { pace in
                pace.receive(buffer.readableBytes)
                if count > limit.shortByteCount { pace.becomeLong(at: reader.elapsed()) }
            }
            reader.receive(bytes.capacity - capacity, of: self)
            capacity = bytes.capacity
        }
        isRead.store(true, ordering: .relaxed)
        if bytes.count > limit.shortByteCount {
            pace.update { $0.wait() }
            try await limit.admit()
        }
        reader.complete(self)
        return bytes
    }

    private func waitForStall() async {
        let (clock, elapsed) = (reader.clock, reader.elapsed)
        // A wait that finds a deadline immediately does not notice a cancellation.
        while !Task.isCancelled, let deadline = await pace.wait(for: { $0.deadline }) {
            // The deadline changes when the body becomes long, is complete, or is cut off.
            let change: Void?? = await withTimeout(after: { try await clock.sleep(for: deadline - elapsed()) }) { [pace] in
                await pace.wait { $0.deadline == deadline ? nil : () }
            }
            if change == nil, pace.update({ $0.isTooSlow(at: elapsed()) }) { return }
        }
    }
}
