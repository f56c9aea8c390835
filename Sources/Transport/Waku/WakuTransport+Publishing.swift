import Concurrency
import CoreMetrics
package import Envelope
import Logging
import StatusCrypto
import Synchronization
import WakuREST

extension WakuTransport {
    /// Publishes through one of the nodes, each of which is tried once. Queues behind what others publish: a node takes few messages at a
    /// time (WAKU_REST.md §1.2).
    ///
    /// - Throws: `outdated` when the envelope is too old to be archived, else what a node answered.
    package func publish(_ envelope: WakuEnvelope) async throws {
        let hash = envelope.hash
        base.known.withLock { $0.insert([hash]) }  // the nodes will give it back to us
        waitingCount.add(1, ordering: .relaxed)
        defer { waitingCount.subtract(1, ordering: .relaxed) }
        // Where answers come in: between one and the next POST nobody has to be woken.
        let error = try await withTaskExecutorPreference(links[0].node.client) { try await self.postToEach(envelope) }
        if let error { throw TransportError(error) }
        if base.configuration.confirmsPublishing { confirmations.withLock { $0.add(.init(hash: hash, envelope: envelope)) } }
    }

    /// Tries one node after the other until one takes the message.
    ///
    /// - Returns: why none did: a reason that may pass, if there is one.
    private func postToEach(_ envelope: WakuEnvelope) async throws -> NodeError? {
        var tried: Set<Int> = []
        var failure: NodeError?
        while tried.count < links.count {
            let troubled = Set(links.indices.filter { links[$0].status.hasIssue(about: envelope.pubsubTopic) })
            let lane = await lanes.wait { [tried, base] lanes in
                lanes.enter(besides: tried, troubled: troubled, at: base.wallClock.now())
            }
            guard let lane else { throw CancellationError() }
            tried.insert(lane)
            guard let error = try await post(envelope, on: lane) else { return nil }
            if failure.map({ !PublishAttempts.mayPass($0) }) ?? true { failure = error }
        }
        return failure
    }

    /// - Returns: why the node did not take the message.
    private func post(_ envelope: WakuEnvelope, on lane: Int) async throws -> NodeError? {
        guard PublishAttempts.isFresh(envelope, at: base.wallClock.now()) else {
            leave(lane, after: .unused)
            base.metrics.count(.outdated)
            throw TransportError.outdated
        }
        let link = links[lane]
        do throws(NodeError) {
            leave(lane, after: .taken(try await link.node.publish(envelope)))
            base.metrics.published.increment()
            link.status.report(nil, about: "publishing")
            return nil
        } catch {
            base.metrics.count(PublishFailure(error))
            leave(lane, after: error.isQuotaUsedUp ? .quotaUsedUp : .failed)
            if lanes.read({ $0.isBroken(lane) }) || !PublishAttempts.mayPass(error) { link.status.report("\(error)", about: "publishing") }
            return error
        }
    }

    private func leave(_ lane: Int, after outcome: PublishLanes.Outcome) {
        lanes.update { [base] lanes in lanes.leave(lane, after: outcome, at: base.wallClock.now()) }
    }

    /// Looks for what was published in the store, and publishes again what is not there: a node answers 200 also when it has no peer
    /// (WAKU_REST.md §1.2).
    func confirmPublished() async {
        while await base.pause(Confirmations.interval) {
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
        query.peerAddress = base.configuration.storePeerAddress
        var found: Set<Digest32>?
        for link in links where found == nil {
            found = (try? await link.node.storePage(query)).map { Set($0.rows.compactMap(\.digest)) }
        }
        // A store that does not answer is the history's trouble; it proves nothing about the messages.
        guard let found else { return base.metrics.unconfirmed.increment(by: entries.count) }
        for entry in entries where !found.contains(entry.hash) {
            do {
                try await publish(entry.envelope)
            } catch let error as TransportError where error.isPassing {
                confirmations.withLock { $0.add(entry) }  // until it is too old
            } catch {
                base.metrics.unconfirmed.increment()
                base.logger.warning("a published message is not in the node's store", metadata: ["error": "\(error)"])
            }
        }
    }
}
