import CoreMetrics
package import Envelope
package import Logging
package import PushProtocol
import ServiceLifecycle
import StatusCrypto
package import Store
import Synchronization

/// Takes accepted pushes out of the outbox, posts them to gorush, and strikes them when gorush took them.
///
/// What gorush did not take stays queued and is tried again, until it is older than a push may be. A crash between an answer and its
/// mark posts the same push once more: better a phone that rings twice than one that never does.
package final class DeliveryLoop: Service {
    package struct Configuration: Sendable {
        package var dataFormat: GorushDataFormat
        package var texts: PushTexts
        /// How long a batch waits that gorush did not take; also how often the outbox is looked at without being called.
        package var retryInterval: Duration

        package init(dataFormat: GorushDataFormat = .rfc71, texts: PushTexts = PushTexts(), retryInterval: Duration = .seconds(5)) {
            self.dataFormat = dataFormat
            self.texts = texts
            self.retryInterval = retryInterval
        }
    }

    /// Pushes read at once: some full batches, a few hundred kilobytes.
    private static let readCount = 500
    /// A device whose push gorush reports as failed is tried again after the interval, twice, four times it … at most this often it.
    private static let longestBackOffFactor = 64

    private let store: PushStore
    private let gorush: GorushClient
    private let configuration: Configuration
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let logger: Logger
    private let metrics = DeliveryMetrics()
    private let random = SecureRandom()
    private let calls: AsyncStream<Void>
    private let call: AsyncStream<Void>.Continuation
    private let trouble = Mutex<String?>(nil)
    /// The smallest limit gorush has named so far.
    private let maximumNotificationCount: Mutex<Int>

    package init(
        store: PushStore, gorush: GorushClient, configuration: Configuration, clock: any Clock<Duration>, wallClock: WallClock,
        logger: Logger
    ) {
        self.store = store
        self.gorush = gorush
        self.configuration = configuration
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
        maximumNotificationCount = Mutex(gorush.configuration.maximumNotificationCount)
        // One call that waits is enough: a round takes all that is due.
        (calls, call) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// There is something new in the outbox.
    package func wake() {
        call.yield()
    }

    /// What keeps pushes from being delivered, in words for an operator; empty when the last batch was taken.
    package var troubles: [String] {
        trouble.withLock { $0.map { [$0] } ?? [] }
    }

    /// Delivers until the service group shuts down; the batch that is under way is finished first.
    package func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.tick() }
                for await _ in calls { await deliverDue() }
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.call.finish()
        }
    }

    private func tick() async {
        repeat { wake() } while (try? await clock.sleep(for: configuration.retryInterval)) != nil
    }

    // MARK: One round

    /// Posts all that is due; ends early when gorush takes nothing, for then the rest can wait for the next round.
    private func deliverDue() async {
        do {
            while true {
                let due = try await store.duePushes(at: wallClock.now(), limit: Self.readCount)
                guard !due.isEmpty else { return }
                let live = try await expire(due)
                for platform in [GorushNotification.Platform.ios, .android] {
                    guard try await deliver(live, on: platform) else { return }
                }
            }
        } catch {
            logger.error("the outbox could not be read or marked; pushes stay queued", metadata: ["error": "\(error)"])
        }
    }

    /// Strikes what is too old to wake anybody.
    private func expire(_ due: [QueuedPush]) async throws -> [QueuedPush] {
        let now = wallClock.now()
        let (live, expired) = due.reduce(into: ([QueuedPush](), [QueuedPush]())) { parts, push in
            if push.acceptedAt.advanced(by: Limits.pushLifetime) < now { parts.1.append(push) } else { parts.0.append(push) }
        }
        try await finish(expired, as: .expired)
        return live
    }

    /// One platform at a time: a gorush that has the other one disabled drops only what it will not send, and says so by its count.
    ///
    /// - Returns: false when gorush does not take anything now.
    private func deliver(_ due: [QueuedPush], on platform: GorushNotification.Platform) async throws -> Bool {
        var items = items(due).filter { $0.notification.notification.platform == platform }[...]
        while !items.isEmpty {
            let batch = Array(items.prefix(maximumNotificationCount.withLock { $0 }))
            items = items.dropFirst(batch.count)
            guard try await post(batch) else { return false }
        }
        return true
    }

    private struct Item {
        var notification: IdentifiedNotification
        var pushes: [QueuedPush]
    }

    /// The notifications for the pushes, request by request.
    private func items(_ pushes: [QueuedPush]) -> [Item] {
        var random = self.random
        return Dictionary(grouping: pushes, by: \.message).sorted { $0.key < $1.key }.flatMap { _, pushes in
            GorushNotification.make(
                from: pushes.map(\.push), format: configuration.dataFormat, texts: configuration.texts, oneTokenEach: false
            ).map { group in
                Item(
                    notification: IdentifiedNotification(identifier: Hex.encode(random.bytes(16)), notification: group.notification),
                    pushes: group.indexes.map { pushes[$0] })
            }
        }
    }

    /// - Returns: false when gorush does not take anything now.
    private func post(_ batch: [Item]) async throws -> Bool {
        let answer = await gorush.post(batch.map(\.notification))
        metrics.count(answer)
        let pushes = batch.flatMap(\.pushes)
        switch answer {
        case .accepted(let failures):
            note(nil)
            try await mark(batch, failures: failures)
        case .overLimit(let limit):
            // Nothing was sent; the pushes are still due and go out in smaller batches.
            maximumNotificationCount.withLock { $0 = min($0, limit) }
        case .refused where batch.count > 1:
            // One bad element refuses the whole batch: alone, each gets its own answer.
            for item in batch {
                guard try await post([item]) else { return false }
            }
        case .refused(let status, _):
            logger.error("gorush refuses a notification for good", metadata: ["status": "\(status ?? 0)"])
            try await finish(pushes, as: .refused)
        case .short(let expected, let counted):
            note("gorush took \(counted) of \(expected) targets: a platform is disabled there")
            try await postpone(pushes)
            // The other platform may work.
            return true
        case .misconfigured(let status):
            note("gorush cannot be used: " + (status.map { "it answered \($0)" } ?? "its URL or certificate is wrong"))
            try await postpone(pushes)
            return false
        case .unavailable(let retryAfter):
            note("gorush is not available")
            try await postpone(pushes, atLeast: retryAfter)
            return false
        case .unknown:
            note("gorush gave no answer that can be relied on")
            try await postpone(pushes)
            return false
        }
        return true
    }

    /// A notification that is named among the failures is tried again, with a growing delay; all others are sent.
    private func mark(_ batch: [Item], failures: [GorushFailure]) async throws {
        let failed = Set(failures.compactMap(\.identifier))
        let sent = batch.filter { !failed.contains($0.notification.identifier) }.flatMap(\.pushes)
        try await finish(sent, as: .sent)
        for item in batch where failed.contains(item.notification.identifier) {
            for push in item.pushes {
                let factor = min(1 << min(push.attempts, 16), Self.longestBackOffFactor)
                try await store.postpone([push.id], until: wallClock.now().advanced(by: configuration.retryInterval * factor))
            }
        }
    }

    private func finish(_ pushes: [QueuedPush], as outcome: PushOutcome) async throws {
        guard !pushes.isEmpty else { return }
        try await store.finish(pushes.map(\.id), as: outcome, at: wallClock.now())
        metrics.count(outcome, by: pushes.count)
    }

    private func postpone(_ pushes: [QueuedPush], atLeast delay: Duration? = nil) async throws {
        let delay = max(delay ?? .zero, configuration.retryInterval)
        try await store.postpone(pushes.map(\.id), until: wallClock.now().advanced(by: delay))
    }

    /// Says a change of state once.
    private func note(_ text: String?) {
        let previous = trouble.withLock { trouble in
            defer { trouble = text }
            return trouble
        }
        guard previous != text else { return }
        if let text {
            logger.warning("pushes are not delivered", metadata: ["reason": "\(text)"])
        } else {
            logger.notice("pushes are delivered again")
        }
    }
}
