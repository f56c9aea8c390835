import Bytes
import CoreMetrics
package import Envelope
import Logging
import StatusCrypto
import Synchronization
import Tasks
import WakuREST

extension WakuTransport {
    /// Publishes through any node, and tries each at most once. Waits for a free slot, because a node handles few messages at a time
    /// (WAKU_REST.md §1.2).
    ///
    /// - Throws: `outdated` if the envelope is too old for an archive, else a node's error.
    package func publish(_ envelope: WakuEnvelope) async throws {
        let hash = envelope.hash
        base.known.withLock { $0.insert([hash], at: base.wallClock.now()) }  // the nodes will return the message to this server
        try await publishToSelf(envelope)
        if base.configuration.confirmsPublishing { confirmations.withLock { $0.add(.init(hash: hash, envelope: envelope)) } }
    }

    package func publishToSelf(_ envelope: WakuEnvelope) async throws {
        waitingCount.add(1, ordering: .relaxed)
        defer { waitingCount.subtract(1, ordering: .relaxed) }
        if let error = try await postToEach(envelope) { throw TransportError(error) }
    }

    /// Posts to the nodes in turn until the message is accepted.
    ///
    /// - Returns: Why no node accepted it, preferably a reason that may pass, or nil if a node did.
    private func postToEach(_ envelope: WakuEnvelope) async throws -> NodeError? {
        var tried: Set<Int> = []
        var failure: NodeError?
        while tried.count < links.count {
            let responses = try await postHedged(envelope, besides: tried)
            for response in responses {
                guard let error = response.error else { return nil }
                tried.insert(response.node)
                if failure.map({ !PublishAttempts.mayPass($0) }) ?? true { failure = error }
            }
        }
        return failure
    }

    private typealias Response = (node: Int, error: NodeError?)

    /// Posts to a node, and to a second node as well if the first is silent. Both publish the same message, because its hash is the same. A
    /// node without quota is never the second.
    ///
    /// - Returns: The responses up to the first success. A silent node that lost the race is not among them.
    private func postHedged(_ envelope: WakuEnvelope, besides tried: Set<Int>) async throws -> [Response] {
        let first = try await acquireNode(for: envelope, besides: tried)
        let excluded = selector.read { Set($0.withoutQuota) }.union(tried).union([first])
        guard excluded.count < links.count else { return [(first, try await post(envelope, on: first))] }

        return try await withThrowingTaskGroup(of: Response?.self) { group in
            defer { group.cancelAll() }
            group.addTask { (first, try await self.post(envelope, on: first)) }
            group.addTask {
                try await self.base.clock.sleep(for: self.selector.read { $0.silence(of: first) })
                return nil
            }
            var responses: [Response] = []
            var inFlightCount = 1
            while inFlightCount > 0, let event = try await group.next() {
                if let response = event {
                    responses.append(response)
                    if response.error == nil { break }
                    inFlightCount -= 1
                } else {
                    selector.update { $0.recordSilence(of: first) }
                    base.metrics.count(.silent)
                    inFlightCount += 1
                    group.addTask {
                        let second = try await self.acquireNode(for: envelope, besides: excluded)
                        return (second, try await self.post(envelope, on: second))
                    }
                }
            }
            return responses
        }
    }

    private func acquireNode(for envelope: WakuEnvelope, besides excluded: Set<Int>) async throws(CancellationError) -> Int {
        let troubled = Set(links.indices.filter { links[$0].status.hasIssue(about: envelope.pubsubTopic) })
        let node = await selector.wait { [base] selector in
            selector.acquire(besides: excluded, troubled: troubled, at: base.wallClock.now())
        }
        guard let node else { throw CancellationError() }
        return node
    }

    /// - Returns: Why the node did not accept the message, or nil if it did.
    private func post(_ envelope: WakuEnvelope, on node: Int) async throws -> NodeError? {
        let start = base.wallClock.now()
        guard PublishAttempts.isFresh(envelope, at: start) else {
            release(node, after: .unused)
            base.metrics.count(.outdated)
            throw TransportError.outdated
        }
        let link = links[node]
        do throws(NodeError) {
            let kind = try await link.node.publish(envelope)
            release(node, after: .accepted(kind, after: start.duration(to: base.wallClock.now())))
            base.metrics.published.increment()
            link.status.report(nil, about: "publishing")
            return nil
        } catch {
            if Task.isCancelled {
                release(node, after: .cancelled)
            } else {
                base.metrics.count(PublishFailure(error))
                release(node, after: error.isQuotaExhausted ? .quotaExhausted : .failed)
            }
            if selector.read({ $0.isBroken(node) }) || !PublishAttempts.mayPass(error) {
                link.status.report("\(error)", about: "publishing")
            }
            return error
        }
    }

    private func release(_ node: Int, after outcome: PublishNodeSelector.Outcome) {
        selector.update { [base] selector in selector.release(node, after: outcome, at: base.wallClock.now()) }
    }

    /// Looks for the published messages in the store, and publishes again what is missing, because a node answers 200 even without any peer
    /// (WAKU_REST.md §1.2).
    func confirmPublished() async {
        while await base.pause(Confirmations.interval) {
            let entries = confirmations.withLock { $0.take() }
            for start in stride(from: 0, to: entries.count, by: HistorySync.maximumHashCount) {
                await confirm(Array(entries[start...].prefix(HistorySync.maximumHashCount)))
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
        // A store that does not answer is the history's trouble. It proves nothing about the messages.
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
