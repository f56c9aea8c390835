import CoreMetrics
package import Envelope
import Logging
import Synchronization
import Tasks
import WakuREST
import Wire

extension WakuTransport {
    package func publish(_ envelope: WakuEnvelope) async throws { try await publish(envelope, reportLoss: nil) }

    /// Publishes through any node with peers, and tries each at most once. Waits for a free slot, because a node handles few messages at a
    /// time (WAKU_REST.md §1.2).
    ///
    /// - Throws: `outdated` if the envelope is too old for an archive, `noPeers` if no node has a peer, `lost` if one accepted it that had
    ///   none, else a node's error.
    package func publish(_ envelope: WakuEnvelope, reportLoss: @escaping @Sendable () -> Void) async throws {
        try await publish(envelope, reportLoss: .some(reportLoss))
    }

    package func publishToSelf(_ envelope: WakuEnvelope) async throws { try await postToAny(envelope, nil) }

    private func publish(_ envelope: WakuEnvelope, reportLoss: (@Sendable () -> Void)?) async throws {
        let hash = envelope.hash
        base.known.withLock { $0.insert([hash], at: base.wallClock.now()) }  // the nodes will return the message to this server
        try await postToAny(envelope, reportLoss)
    }

    /// Posts to the nodes in turn until the message is accepted.
    ///
    /// - Throws: Why no node accepted it: `lost` if one did in vain, else preferably a reason that may pass.
    private func postToAny(_ envelope: WakuEnvelope, _ reportLoss: (@Sendable () -> Void)?) async throws {
        waitingCount.add(1, ordering: .relaxed)
        defer { waitingCount.subtract(1, ordering: .relaxed) }
        var tried: Set<Int> = []
        var failure: TransportError?
        while let responses = try await postHedged(envelope, besides: tried) {
            for response in responses {
                guard let error = response.error ?? keep(envelope, reportLoss, acceptedBy: response.node) else { return }
                tried.insert(response.node)
                if failure?.isPassing != true || error == .lost { failure = error }
            }
        }
        guard let failure else {
            base.metrics.count(.noPeers)
            throw TransportError.noPeers
        }
        throw failure
    }

    /// Remembers an accepted message, if its sender wants to know of its loss, until the node's health shows whether it had peers.
    ///
    /// - Returns: An error if it had none.
    private func keep(_ envelope: WakuEnvelope, _ reportLoss: (@Sendable () -> Void)?, acceptedBy node: Int) -> TransportError? {
        let entry = reportLoss.map { AcceptedMessages.Entry(byteCount: envelope.message.payload.count, reportLoss: $0) }
        let now = base.time.elapsed()
        guard !base.selector.update({ $0.keep(entry, acceptedBy: node, at: now) }) else { return nil }
        base.metrics.count(.noPeers)
        return .lost
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
}
