import Envelope
import Logging
import Store
import Synchronization
import Tasks
import Wire

/// What becomes of work that could not be committed: it is tried again, waits for a row or for the store, or is refused.
extension CommitStage {
    /// The delay between attempts to decide a message.
    private static let retryInterval = Duration.milliseconds(100)
    /// The delay between attempts at work without a deadline.
    private static let rowRetryInterval = Duration.seconds(1)

    func handle(
        _ error: any Error, of work: Work, isAlone: Bool, triedAt start: Duration, in group: inout DiscardingTaskGroup
    ) {
        switch (StoreFault(error), work) {
        case (.taken, _):
            // Another server owns the message, or an earlier attempt decided it although its commit seemed to fail. The journal has the
            // reply then.
            context.giveBack(work.rows)
        case (.rowsHeld, .decide(let message, _, _)):
            blocked.warn(of: error)
            let cost = context.time.elapsed() - start
            if case .ownersLocked(let owners, _)? = error as? StoreError {
                blocked.block(message, owners.map { .owner($0) })
            } else {
                blocked.block(message, [.message(message.id)], after: isAlone ? cost : .zero)
            }
        case (.wholeStore, .decide(let message, _, _)) where isAlone:
            // If the store is back and fails on it again, the message is tried alone, and doesn't delay others.
            blocked.block(message, [.message(message.id)])
        case (.wholeStore, _):
            giveBack(work, in: &group)
        case (.ofMessage, .decide(let message, let permit, let failures)):
            judge(message, permit, context.storeHealth.failures(failures, triedAt: start), in: &group)
        case (.rowsHeld, .refuse(let message, let reply, _)), (.ofMessage, .refuse(let message, let reply, _)):
            replies.send([reply])
            retry(.tidy(message, with: reply), in: &group)
        case (.rowsHeld, .tidy), (.ofMessage, .tidy), (.rowsHeld, .close), (.ofMessage, .close):
            retry(work, in: &group)
        }
    }

    /// Tries a message again after a delay, or refuses it once the store has failed on it for long enough.
    private func judge(
        _ message: OpenedEnvelope, _ permit: SharedPermit, _ failures: StoreState.Failures, in group: inout DiscardingTaskGroup
    ) {
        group.addTask {
            guard (try? await self.context.clock.sleep(for: Self.retryInterval)) != nil else { return }
            switch await self.context.storeHealth.verdict(on: failures, clock: self.context.clock) {
            case .wait: self.context.giveBack(message.rows)
            case .retry: self.send([.decide(message, permit, failures: failures)])
            case .refuse: self.refuse(message, permit)
            case nil: break
            }
        }
    }

    /// Tries work without a deadline again after a delay.
    private func retry(_ work: Work, in group: inout DiscardingTaskGroup) {
        group.addTask {
            if (try? await self.context.clock.sleep(for: Self.rowRetryInterval)) != nil { self.send([work]) }
        }
    }

    /// Replies INTERNAL_ERROR to a message on which the store fails, although it works.
    private func refuse(_ message: OpenedEnvelope, _ permit: SharedPermit) {
        context.metrics.count(message.internalError)
        if let count = refused.withLock({ $0.add(1, at: context.time.elapsed()) }) {
            context.logger.error("messages were refused, because the store fails on them", metadata: ["messages": "\(count)"])
        }
        guard let reply = decider.internalError(for: message) else { return send([.close(rows: message.rows, permit)]) }
        if reply.type == .pushNotificationRegistrationResponse {
            send([.refuse(message, with: reply, permit)])
        } else {
            replies.send([reply])
        }
    }

    /// Returns work to the journal while the store is away. A message whose sender has the INTERNAL_ERROR must not be decided again.
    func giveBack(_ work: Work, in group: inout DiscardingTaskGroup) {
        if case .tidy = work { retry(work, in: &group) } else { context.giveBack(work.rows) }
    }
}
