import Envelope
import FoundationEssentials
import Tasks

extension SendingClient {
    /// How often a change is tried if another client always changes the saved pushes first.
    private static let maximumAttemptCount = 20
    /// The longest wait for the next attempt, because clocks are sometimes set.
    private static let longestWait = Duration.seconds(60 * 60)

    /// Sends the kept pushes until the task is cancelled. Returns immediately if the client does not keep pushes.
    ///
    /// The delays between attempts grow as in reference clients: 4, 16, 48 and 128 seconds and so on, up to an hour. Pushes older than 24
    /// hours are dropped. Each result is an event. Two clients that share a state may send a push twice, which is harmless because both
    /// have the same message id.
    public func run() async {
        guard keepsUnsentPushes else { return }
        while !Task.isCancelled {
            var pause = Self.longestWait
            do {
                for entry in try await changeUnsent({ [now = node.now] in $0.due(at: now) }) { try await resend(entry) }
                let now = node.now
                if let next = try await changeUnsent({ $0.nextAttempt }) { pause = min(max(now.duration(to: next), .zero), pause) }
            } catch let error as PushClientError {
                report(.failing(error))
                pause = Self.followingRetryDelay
            } catch {
                return
            }
            _ = await withTimeout(pause, clock: node.exchange.clock) { [changes] in await changes.wait() }
        }
    }

    private func resend(_ entry: UnsentPushes.Entry) async throws {
        var remaining = entry.recipients
        do {
            let reports = try await send(entry.message, to: entry.recipients, maximumDeviceCount: entry.maximumDeviceCount)
            remaining = Self.unsent(entry.recipients, in: reports)
            report(.sent(reports.filter { $0.outcome.error == nil }))
        } catch let error as PushClientError where error.isOfNode {
            report(.failing(error))
        }
        try await changeUnsent { [remaining, now = node.now] in $0.recordAttempt(entry.number, remaining: remaining, at: now) }
    }

    /// Keeps a push for ``run()``.
    func keep(_ message: PushMessage, for recipients: [Recipient], maximumDeviceCount: Int) async throws {
        try await changeUnsent { [now = node.now] in
            $0.add(message, to: recipients, maximumDeviceCount: maximumDeviceCount, at: now)
        }
        changes.notify()
    }

    /// Returns the recipients who could not be looked up.
    static func unsent(_ recipients: [Recipient], in reports: [DeliveryReport]) -> [Recipient] {
        let failed = Set(reports.filter { $0.outcome.error != nil }.map(\.owner))
        return recipients.filter { failed.contains($0.owner) }
    }

    /// Changes the saved pushes, again if another client has changed them meanwhile.
    @discardableResult
    private func changeUnsent<Value: Sendable>(_ change: @Sendable (inout UnsentPushes) -> Value) async throws -> Value {
        let name = StateName.unsentPushes(of: identity?.publicKey)
        for _ in 0..<Self.maximumAttemptCount {
            let old = try await state.data(named: name)
            var pushes: UnsentPushes = try old.map { try BoundedState.decode($0) } ?? UnsentPushes()
            let before = pushes
            let value = change(&pushes)
            guard pushes != before else { return value }
            if try await state.replace(old, by: BoundedState.encode(pushes), named: name) { return value }
        }
        throw PushClientError.stateUnusable(reason: "other clients change it all the time")
    }
}

extension PushClientError {
    /// Whether the node failed, so that the same request may succeed later.
    var isOfNode: Bool { code == .nodeUnreachable || code == .nodeRejected }
}
