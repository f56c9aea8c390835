import Bytes
import CoreMetrics
package import Envelope
import Logging
import StatusCrypto
import Synchronization
import Tasks
import WakuREST
import Wire

extension WakuTransport {
    package func publish(_ envelope: WakuEnvelope) async throws { try await publish(envelope) {} }

    /// Publishes through any node with peers, and tries each at most once. Waits for a free slot, because a node handles few messages at a
    /// time (WAKU_REST.md §1.2).
    ///
    /// - Throws: `outdated` if the envelope is too old for an archive, `noPeers` if no node has a peer, else a node's error.
    package func publish(_ envelope: WakuEnvelope, reportLoss: @escaping @Sendable () -> Void) async throws {
        let hash = envelope.hash
        base.known.withLock { $0.insert([hash], at: base.wallClock.now()) }  // the nodes will return the message to this server
        let node = try await postToAny(envelope, reportLoss)
        guard confirmsPublishing else { return }
        confirmations.withLock { $0.add(.init(hash: hash, envelope: envelope, node: node, reportLoss: reportLoss)) }
    }

    package func publishToSelf(_ envelope: WakuEnvelope) async throws {
        _ = try await postToAny(envelope) {}
    }

    /// Posts to the nodes in turn until the message is accepted.
    ///
    /// - Returns: The node that accepted it.
    /// - Throws: Why no node accepted it, preferably a reason that may pass.
    private func postToAny(_ envelope: WakuEnvelope, _ reportLoss: @escaping @Sendable () -> Void) async throws -> Int {
        waitingCount.add(1, ordering: .relaxed)
        defer { waitingCount.subtract(1, ordering: .relaxed) }
        var tried: Set<Int> = []
        var failure: TransportError?
        while let responses = try await postHedged(envelope, besides: tried) {
            for response in responses {
                guard let error = response.error ?? keep(envelope, reportLoss, acceptedBy: response.node) else { return response.node }
                tried.insert(response.node)
                if failure?.isPassing != true { failure = error }
            }
        }
        guard let failure else {
            base.metrics.count(.noPeers)
            throw TransportError.noPeers
        }
        throw failure
    }

    /// Remembers an accepted message until the node's health shows whether it had peers.
    ///
    /// - Returns: An error if it had none.
    private func keep(
        _ envelope: WakuEnvelope, _ reportLoss: @escaping @Sendable () -> Void, acceptedBy node: Int
    ) -> TransportError? {
        let entry = AcceptedMessages.Entry(byteCount: envelope.message.payload.count, reportLoss: reportLoss)
        let now = base.time.elapsed()
        guard !base.selector.update({ $0.keep(entry, acceptedBy: node, at: now) }) else { return nil }
        base.metrics.count(.noPeers)
        return .noPeers
    }

    private typealias Response = (node: Int, error: TransportError?)

    private enum Event {
        case response(Response)
        /// The first node has not responded in time.
        case silence
        /// No second node is left.
        case noNode
    }

    /// Posts to a node, and to a second node as well if the first is silent. Both publish the same message, because its hash is the same. A
    /// node without quota is never the second.
    ///
    /// - Returns: The responses up to the first success, or nil if no node with peers is left. A silent node that lost the race is not
    ///   among the responses.
    private func postHedged(_ envelope: WakuEnvelope, besides tried: Set<Int>) async throws -> [Response]? {
        guard let first = try await acquireNode(for: envelope, besides: tried) else { return nil }
        let excluded = base.selector.read { Set($0.withoutQuota) }.union(tried).union([first])
        guard base.selector.read({ $0.hasNode(besides: excluded) }) else { return [(first, try await post(envelope, on: first))] }

        return try await withThrowingTaskGroup(of: Event.self) { group in
            defer { group.cancelAll() }
            group.addTask { .response((first, try await self.post(envelope, on: first))) }
            group.addTask {
                try await self.base.clock.sleep(for: self.base.selector.read { $0.silence(of: first) })
                return .silence
            }
            var responses: [Response] = []
            var inFlightCount = 1
            while inFlightCount > 0, let event = try await group.next() {
                switch event {
                case .response(let response):
                    responses.append(response)
                    if response.error == nil { return responses }
                    inFlightCount -= 1
                case .silence:
                    base.selector.update { $0.recordSilence(of: first) }
                    base.metrics.count(.silent)
                    inFlightCount += 1
                    group.addTask {
                        guard let second = try await self.acquireNode(for: envelope, besides: excluded) else { return .noNode }
                        return .response((second, try await self.post(envelope, on: second)))
                    }
                case .noNode:
                    inFlightCount -= 1
                }
            }
            return responses
        }
    }

    /// - Returns: The node, or nil if no node with peers is left.
    private func acquireNode(for envelope: WakuEnvelope, besides excluded: Set<Int>) async throws(CancellationError) -> Int? {
        let troubled = Set(links.indices.filter { links[$0].status.hasIssue(about: envelope.pubsubTopic) })
        let node = await base.selector.wait { [base] selector -> Int?? in
            guard selector.hasNode(besides: excluded) else { return .some(nil) }
            return selector.acquire(besides: excluded, troubled: troubled, at: base.wallClock.now()).map { .some($0) }
        }
        guard let node else { throw CancellationError() }
        return node
    }

    /// - Returns: Why the node did not accept the message, or nil if it did.
    private func post(_ envelope: WakuEnvelope, on node: Int) async throws -> TransportError? {
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
            if base.selector.read({ $0.isBroken(node) }) || !error.mayPass(for: .publishing) {
                link.status.report("\(error)", about: "publishing")
            }
            return .node(error)
        }
    }

    private func release(_ node: Int, after outcome: PublishNodeSelector.Outcome) {
        base.selector.update { [base] selector in selector.release(node, after: outcome, at: base.wallClock.now()) }
    }

    // MARK: Confirmation

    /// Whether published messages are looked up. A node stores its own messages even without a peer, so its own store confirms nothing.
    var confirmsPublishing: Bool {
        base.configuration.confirmsPublishing && (links.count > 1 || base.configuration.storePeerAddress != nil)
    }

    /// Looks for the published messages in another node's store, and publishes once more what is missing.
    func confirmPublished() async {
        while await base.pause(Confirmations.interval) {
            let entries = Dictionary(grouping: confirmations.withLock { $0.take() }, by: \.node)
            for (node, entries) in entries {
                for start in stride(from: 0, to: entries.count, by: HistorySync.maximumHashCount) {
                    await confirm(Array(entries[start...].prefix(HistorySync.maximumHashCount)), acceptedBy: node)
                }
            }
        }
    }

    private func confirm(_ entries: [Confirmations.Entry], acceptedBy node: Int) async {
        // A store that does not respond is the history's trouble. It proves nothing about the messages.
        guard let found = await stored(entries, acceptedBy: node) else { return base.metrics.unconfirmed.increment(by: entries.count) }
        for entry in entries where !found.contains(entry.hash) {
            do {
                _ = try await postToAny(entry.envelope, entry.reportLoss)
            } catch let error as TransportError where error.isPassing {
                confirmations.withLock { $0.add(entry) }  // until it is too old
            } catch {
                base.metrics.unconfirmed.increment()
                base.logger.warning(
                    "a published message is not in another node's store",
                    metadata: ["node": "\(links[node].node.name)", "error": "\(error)"])
            }
        }
    }

    /// Returns which messages are in the store of another connected node, or of the configured peer, or nil if no such store responds.
    private func stored(_ entries: [Confirmations.Entry], acceptedBy node: Int) async -> Set<Digest32>? {
        var query = StoreQuery()
        query.hashes = entries.map { Hex.encode($0.hash.bytes, prefix: "0x") }
        query.includesData = false
        query.peerAddress = base.configuration.storePeerAddress
        for link in links where base.selector.read({ $0.isConnected(link.index) }) {
            guard query.peerAddress != nil || link.index != node && !link.status.lacksStore else { continue }
            if let page = try? await link.node.storePage(query) { return Set(page.rows.compactMap(\.digest)) }
        }
        return nil
    }
}
