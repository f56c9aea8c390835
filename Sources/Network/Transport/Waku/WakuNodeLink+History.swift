import CoreMetrics
import Envelope
import Logging
import ServiceLifecycle
import Synchronization
import Tasks
import WakuREST

/// The history task for a pubsub topic, which performs the work that `HistorySync` decides.
extension WakuNodeLink {
    func followHistory(of topic: String, _ receiver: any EnvelopeReceiver, _ signals: TopicSignals) async {
        var history = HistorySync(
            pubsubTopic: topic, peerAddress: base.configuration.storePeerAddress, wants: { receiver.isInterested(in: $0) },
            isKnown: { hash in self.base.known.withLock { $0.contains(hash) } },
            forgottenUntil: { self.base.known.withLock(\.forgottenUntil) },
            isPolledSteadily: { start in signals.isPolledSteadily(since: start, at: self.base.time.elapsed()) })
        var check = HoleCheck(pubsubTopic: topic, peerAddress: base.configuration.storePeerAddress)
        var isJudged = true
        var action = history.action
        while await pause(action.delay, orSignals: signals) {
            let event = if let event = signals.nextForHistory() { event } else { await carryOut(action.work, receiver, topic) }
            action = history.note(event, at: base.wallClock.now())
            status.report(action.issue, about: WakuStatus.historySubject(topic))
            watchStore(topic, event, action, signals)
            if action.hasFoundMissed { signals.signalMissed() }
            if action.hasListedHoles { isJudged = false }
            if case .saved = event { isJudged = await judgeHoles(of: topic, with: &check, isJudged: isJudged) }
            guard action.filledGapCount > 0 else { continue }
            base.metrics.gapsFilled.increment(by: action.filledGapCount)
            base.logger.notice("backfill completed", metadata: ["node": "\(node.name)", "topic": "\(topic)"])
        }
    }

    /// Tells the watch what the node's own store has listed, and reports what it finds.
    private func watchStore(_ topic: String, _ event: HistorySync.Event, _ action: HistorySync.Action, _ signals: TopicSignals) {
        let now = base.wallClock.now()
        let lacksMessages = signals.watchStore { watch in
            if case .page(let page) = event { watch.listed(page.rows.lazy.compactMap(\.digest)) }
            if action.issue != nil { watch.storeFailed() }
            if let period = action.listed { watch.completed(period, at: now) }
            return watch.lacksMessages
        }
        guard let lacksMessages else { return }
        status.warn(lacksMessages ? Self.storeLacksMessages(clockDifference: status.clockDifference) : nil, about: "store of \(topic)")
    }

    /// Why a store lacks what the node delivers: its disk, or a clock, because archives refuse messages that are too far from theirs.
    ///
    /// - Parameter clockDifference: How far the node's clock is ahead, or nil if that is unknown.
    static func storeLacksMessages(clockDifference: Duration?) -> String {
        let text = "the node's store lacks most messages that the node delivers"
        let seconds = (clockDifference ?? .zero).components.seconds
        guard abs(seconds) > PublishAttempts.maximumAge.components.seconds else {
            return text + "; check the node's log, the disk of its store and its retention policy"
        }
        return text + ", and the clocks differ: the node's is \(abs(seconds)) s \(seconds > 0 ? "ahead" : "behind"); correct the wrong one"
    }

    private func carryOut(_ work: HistorySync.Work, _ receiver: any EnvelopeReceiver, _ topic: String) async -> HistorySync.Event {
        do {
            switch work {
            case .load:
                let checkpoints = try await base.checkpoints.checkpoints(of: topic)
                base.receptions.withLock { $0[topic]?.loaded(hasCheckpoint: !checkpoints.isEmpty) }
                // A new node starts from the checkpoint that a transport with a single node saved.
                return .loaded(checkpoints[HistoryProgress.checkpointName(of: topic, at: checkpointNode)] ?? checkpoints[topic])
            case .loadHoles:
                return .holes(try await base.checkpoints.holes(of: topic).holes.map(\.period))
            case .wait:
                return .waited
            case .ask(let query):
                let page = try await node.storePage(query)
                if query.includesData { base.metrics.countFetched(page.rows.count, from: .store) }
                guard await receiver.discover({ Set(page.rows.compactMap(\.contentTopic)) }) else {
                    return .notAccepted
                }
                let unreadable = page.rows.filter { !$0.isReadable && receiver.isInterested(in: $0.contentTopic ?? "") }
                receiver.countUnreadable(unreadable.compactMap(\.envelope))
                return .page(page)
            case .offer(let envelopes, let hashes):
                try await offer(envelopes, hashes: hashes, to: receiver, origin: .backfilled)
                base.metrics.recovered.increment(by: envelopes.count)
                return .accepted
            case .save(let checkpoint, let findings):
                let now = base.wallClock.now()
                var progress = HistoryProgress(of: topic, at: checkpointNode, checkpoint: checkpoint, now: now)
                (progress.seconds, progress.listedAt) = (findings.seconds, findings.listedAt)
                let reported = base.receptions.withLock { receptions in
                    var reported = progress
                    receptions[topic]?.report(in: &reported)
                    return reported
                }
                try await base.checkpoints.save(reported)
                base.receptions.withLock { $0[topic]?.stored(reported) }
                let age = max(.zero, checkpoint.duration(to: now))
                status.saved(base.time.elapsed() - age, of: topic)
                return .saved
            }
        } catch is Overload {
            return .notAccepted
        } catch {
            guard case .ask = work else { return .notAccepted }
            base.metrics.historyFailures.increment()
            return .failed(HistorySync.Failure(error), "\(error)")
        }
    }

    /// Waits for the delay or for a signal.
    ///
    /// - Parameter duration: The delay, or nil to wait for a signal only.
    /// - Returns: False if the transport is to stop.
    private func pause(_ duration: Duration?, orSignals signals: TopicSignals) async -> Bool {
        if duration == .zero { return await base.pause(.zero) }
        await cancelWhenGracefulShutdown { [clock = base.clock] in
            if let duration {
                _ = await withTimeout(duration, clock: clock) { await signals.waitForHistory() }
            } else {
                await signals.waitForHistory()
            }
        }
        return await base.pause(.zero)
    }
}

extension HistorySync.Failure {
    fileprivate init(_ error: any Error) {
        switch error {
        case NodeError.tooLarge: self = .tooLarge
        case NodeError.refused(_, let text) where text.contains("cursor not found"): self = .cursorLost
        default: self = .other
        }
    }
}
