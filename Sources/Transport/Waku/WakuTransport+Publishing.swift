import Concurrency
import CoreMetrics
package import Envelope
import Logging
import StatusCrypto
import Synchronization
import WakuREST

extension WakuTransport {
    /// Queues behind what others publish: a node takes one message at a time (WAKU_REST.md §1.2).
    ///
    /// - Throws: `queueFull` when too much waits already, `outdated` when the envelope is too old to be archived, else what the node
    ///   answered at the last of several attempts.
    package func publish(_ envelope: WakuEnvelope) async throws {
        do {
            try backlog.withLock { backlog throws(TransportError) in try backlog.enter(envelope) }
        } catch {
            metrics.count(.queueFull)
            throw error
        }
        defer { backlog.withLock { $0.leave(envelope) } }
        let hash = envelope.hash
        known.withLock { $0.insert([hash]) }  // the node will give it back to us
        try await publishing.withLock { try await post(envelope) }
        if configuration.confirmsPublishing { confirmations.withLock { $0.add(.init(hash: hash, envelope: envelope)) } }
    }

    private func post(_ envelope: WakuEnvelope) async throws {
        var attempts = PublishAttempts()
        while true {
            guard PublishAttempts.isFresh(envelope, at: wallClock.now()) else {
                metrics.count(.outdated)
                throw TransportError.outdated
            }
            do throws(NodeError) {
                try await node.publish(envelope)
                metrics.published.increment()
                status.report(nil, about: "publishing")
                return
            } catch {
                metrics.count(PublishFailure(error))
                guard let delay = attempts.delay(after: error, jitter: jitter()) else {
                    status.report("\(error)", about: "publishing")
                    throw TransportError(error)
                }
                try await clock.sleep(for: delay)
            }
        }
    }

    /// Looks for what was published in the store, and publishes again what is not there: a node answers 200 also when it has no peer
    /// (WAKU_REST.md §1.2).
    func confirmPublished() async {
        while await pause(Confirmations.interval) {
            let entries = confirmations.withLock { $0.take() }
            for start in stride(from: 0, to: entries.count, by: History.maximumHashCount) {
                await confirm(Array(entries[start...].prefix(History.maximumHashCount)))
            }
        }
    }

    private func confirm(_ entries: [Confirmations.Entry]) async {
        var query = StoreQuery()
        query.hashes = entries.map { Hex.encode($0.hash.bytes, prefix: "0x") }
        query.includesData = false
        query.peerAddress = configuration.storePeerAddress
        guard let page = try? await node.storePage(query) else {
            // A store that does not answer is the history's trouble; it proves nothing about the messages.
            return metrics.unconfirmed.increment(by: entries.count)
        }
        let found = Set(page.rows.compactMap(\.digest))
        for entry in entries where !found.contains(entry.hash) {
            do {
                try await publish(entry.envelope)
            } catch {
                metrics.unconfirmed.increment()
                logger.warning("a published message is not in the node's store", metadata: ["error": "\(error)"])
            }
        }
    }
}
