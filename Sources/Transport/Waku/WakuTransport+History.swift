import CoreMetrics
import Envelope
import Logging
import ServiceLifecycle
import Synchronization
import WakuREST

/// The history of a pubsub topic: carries out what `History` decides.
extension WakuTransport {
    func followHistory(of topic: String, _ receiver: any EnvelopeReceiver, _ signal: HistorySignal) async {
        var history = History(
            pubsubTopic: topic, peerAddress: configuration.storePeerAddress, wants: { receiver.wants(contentTopic: $0) },
            isKnown: { hash in self.known.withLock { $0.contains(hash) } })
        while await pause(history.delay, orGapOf: signal) {
            if signal.takeGap() {
                history.note(.gap, at: wallClock.now())
                continue
            }
            // A node that does not give live messages has nothing to compare them with; when it gives again, that is a gap.
            if case .ask = history.action, !signal.isReceiving {
                guard await pause(nil, orGapOf: signal) else { return }
                continue
            }
            history.note(await carryOut(history, receiver, topic, signal), at: wallClock.now())
            report(history, topic)
        }
    }

    private func carryOut(
        _ history: History, _ receiver: any EnvelopeReceiver, _ topic: String, _ signal: HistorySignal
    ) async -> History.Event {
        do {
            switch history.action {
            case .load:
                return .loaded(try await checkpoints.checkpoint(of: topic))
            case .rest:
                return .rested
            case .ask(let query):
                let page = try await node.storePage(query)
                if query.includesData { metrics.countFetched(page.rows.count, from: .store) }
                return .page(page)
            case .offer(let envelopes, let hashes):
                try await offer(envelopes, hashes: hashes, to: receiver, origin: .caughtUp)
                metrics.recovered.increment(by: envelopes.count)
                if history.isComparing, !envelopes.isEmpty { signal.noteMissed() }
                return .accepted
            case .save(let checkpoint):
                try await checkpoints.saveCheckpoint(checkpoint, of: topic)
                status.saved(checkpoint, of: topic)
                return .saved
            }
        } catch {
            metrics.historyFailures.increment()
            return .failed(History.Failure(error), "\(error)")
        }
    }

    private func report(_ history: History, _ topic: String) {
        status.report(history.trouble, about: "history of \(topic)")
        guard history.filledGapCount > 0 else { return }
        metrics.gapsFilled.increment(by: history.filledGapCount)
        logger.notice("caught up with the node's store", metadata: ["topic": "\(topic)"])
    }

    /// - Parameter duration: nil waits for a gap only.
    /// - Returns: false when it is time to end.
    private func pause(_ duration: Duration?, orGapOf signal: HistorySignal) async -> Bool {
        if duration == .zero { return await pause(.zero) }
        await cancelWhenGracefulShutdown { [clock] in
            await withTaskGroup { group in
                if let duration { group.addTask { try? await clock.sleep(for: duration) } }
                group.addTask { await signal.wait() }
                await group.next()
                group.cancelAll()
            }
        }
        return await pause(.zero)
    }
}

extension History.Failure {
    fileprivate init(_ error: any Error) {
        switch error {
        case NodeError.tooLarge: self = .tooLarge
        case NodeError.refused(_, let text) where text.contains("cursor not found"): self = .cursorLost
        default: self = .other
        }
    }
}
