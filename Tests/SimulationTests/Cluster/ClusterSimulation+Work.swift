import Bytes
import Envelope
import PushProtocol
import Store
import TestSupport
import Wire

@testable import Engine
@testable import PostgreSQLStore

/// The work of the servers: each step does what a stage of the engine or a route does at a time.
extension ClusterSimulation {
    private enum Step: CaseIterable {
        case poll, record, read, open, review, decide, reply, mark, look, choose, post, settle
    }

    /// Does one piece of a server's waiting work.
    mutating func work(_ index: Int) async throws {
        guard isRunning(index), let process = members[index].process else { return }
        let steps = Step.allCases.filter { isWaiting($0, in: process, of: members[index]) }
        guard !steps.isEmpty else { return }
        try await perform(steps[pick(0..<steps.count)], index)
    }

    /// Does all waiting work of a server.
    mutating func workOff(_ index: Int) async throws {
        // Alternate reads and attempts of pushes end when no push is due.
        for _ in 0..<20 {
            for step in Step.allCases {
                guard let process = members[index].process else { return }
                if isWaiting(step, in: process, of: members[index]) { try await perform(step, index) }
            }
            if members[index].process?.isIdle ?? true { return }
        }
    }

    private func isWaiting(_ step: Step, in process: ClusterProcess, of member: Member) -> Bool {
        switch step {
        case .poll: process.batch.isEmpty && !member.node.isEmpty && member.nodeLostUntil == nil
        case .record: !process.batch.isEmpty
        case .read: !process.unread.isEmpty || !process.unreadReplies.isEmpty
        case .open: !process.unopened.isEmpty
        case .review: process.hasSegmentsToReview
        case .decide: !process.undecided.isEmpty
        case .reply: !process.replies.isEmpty && member.nodeLostUntil == nil
        case .mark: !process.unmarked.isEmpty
        case .look: process.due.isEmpty && rows.pushes.values.contains { $0.isOpen && $0.server == process.store.number }
        case .choose: !process.due.isEmpty
        case .post: !process.chosen.isEmpty
        case .settle: !process.outcomes.isEmpty
        }
    }

    private mutating func perform(_ step: Step, _ index: Int) async throws {
        note("\(members[index].name) \(step):")
        switch step {
        case .poll:
            let batch = members[index].node
            members[index].node = []
            members[index].process?.batch = batch
        case .record: try await record(index)
        case .read: try await read(index)
        case .open: try await open(index)
        case .review:
            members[index].process?.hasSegmentsToReview = false
            reviewSegments(index)
        case .decide: try await decide(index)
        case .reply: try reply(index)
        case .mark: try await mark(index)
        case .look:
            guard let process = members[index].process else { return }
            let limit = pick(1..<6)
            members[index].process?.dueNumber = process.store.number
            let due = try await process.store.duePushes(route: "", at: process.steadyNow, limit: limit)
            members[index].process?.due = due.filter { !process.attempts(push: $0.id) && $0.orphanReason == nil }
        case .choose: choose(index)
        case .post: try post(index)
        case .settle: try await settle(index)
        }
    }

    // MARK: Messages

    mutating func takePart(_ index: Int) async throws {
        let earlier = members[index].process?.store.number
        let isReceiving = members[index].nodeLostUntil == nil
        let work = try await call(.takePart, of: index) { try await $0.takePart(isReceiving: isReceiving) }
        guard let process = members[index].process else { return }
        members[index].process?.lastPart = process.elapsed
        if process.store.number != earlier { note("\(process.name) joins again as \(process.store.number)") }
        expireSegments(index)
        guard let work else { return }
        if work.haveMembersChanged { members[index].process?.hasSegmentsToReview = true }
        guard !work.undecided.isEmpty || !work.unreplied.isEmpty || work.pushCount > 0 else { return }
        note("\(process.name) takes messages \(work.undecided), replies \(work.unreplied), \(work.pushCount) pushes")
        for row in work.undecided + work.unreplied {
            try expect(rows.messages[row]?.server == process.store.number, "a server gets its own messages: row \(row)")
        }
        members[index].process?.unread += work.undecided
        members[index].process?.unreadReplies += work.unreplied
    }

    mutating func record(_ index: Int) async throws {
        guard let process = members[index].process, !process.batch.isEmpty else { return }
        var wanted: [WakuEnvelope] = []
        for envelope in process.batch {
            if try await wants(envelope, process) { wanted.append(envelope) } else { losable.insert(number(of: envelope)) }
        }
        let envelopes = wanted.map { (hash: $0.hash, envelope: $0) }
        guard let recorded = try await call(.record, of: index, { [now] in try await $0.record(envelopes, at: now) }) else { return }
        members[index].process?.batch = []
        for (row, envelope) in zip(recorded, wanted) {
            guard let row else { continue }
            let stored = rows.messages[row]
            try expect(
                stored?.server == process.store.number && stored?.isTaken == true && stored?.state == .recorded,
                "a server gets its own messages: row \(row)")
            let message = RecordedEnvelope(id: row, receivedAt: now, envelope: envelope)
            members[index].process?.unopened.append(.init(message: message))
            note("row \(row)")
        }
    }

    /// Whether a server wants an envelope: a query only if another server may have registered its topic.
    private func wants(_ envelope: WakuEnvelope, _ process: ClusterProcess) async throws -> Bool {
        guard case .query(let keys) = workload.testMessages[number(of: envelope)].body,
            let owner = Party.owners.first(where: { $0.keyHash == keys.first })
        else { return true }
        let isRegistered = try await !process.store.registrations(on: [owner.topics.plain]).isEmpty
        try expect(
            isRegistered == (0..<2).contains { model.isLive(owner.installation($0)) }, "each server finds the query topics of all others")
        return isRegistered
    }

    private mutating func read(_ index: Int) async throws {
        guard let process = members[index].process else { return }
        for message in try await process.store.undecided(process.unread) {
            members[index].process?.unopened.append(.init(message: message, isReadAgain: true))
        }
        for (id, receivedAt, reply) in try await process.store.unreplied(process.unreadReplies) {
            guard let reply = PendingReply(id: id, receivedAt: receivedAt, stored: reply) else { continue }
            members[index].process?.replies.append(reply)
        }
        members[index].process?.unread = []
        members[index].process?.unreadReplies = []
    }

    private mutating func decide(_ index: Int) async throws {
        guard let process = members[index].process else { return }
        let messages = Array(process.undecided.prefix(pick(1..<6)))
        var allowances = process.allowances
        allowances.set(process.steadyNow, serverCount: process.store.memberCount)
        let committed = try await call(.decide, of: index) { [allowances, now] store in
            await store.commit(messages.map(\.message), at: now) { messages in
                var lookups = Server.decider.lookups(about: messages)
                lookups.allowances = allowances
                return lookups
            } deciding: {
                Server.decider.decide($0, at: now, in: &$1)
            }
        }
        guard let committed else { return }
        members[index].process?.undecided.removeFirst(messages.count)
        model.beginCommit()
        for (message, outcome) in zip(messages, committed.outcomes) {
            switch outcome {
            case .success(let outcome):
                guard let number = message.number else { continue }
                note("decided \(number)")
                try model.decided(number, workload.testMessages[number], row: message.message.id)
                if let reply = outcome.reply { members[index].process?.replies.append(reply) }
                for spending in outcome.spendings { allowances.spend(spending) }
            case .failure(StoreError.alreadyDecided):
                note("not its own: row \(message.message.id)")
                let rows = message.message.segments.isEmpty ? [] : [message.message.id] + message.message.segments
                members[index].process?.unread += rows
            case .failure:
                note("failed: row \(message.message.id)")
                members[index].process?.undecided.append(message)
            }
        }
        members[index].process?.allowances = allowances
        let superseded = Set(committed.supersededReplies)
        members[index].process?.replies.removeAll { superseded.contains($0.id) }
    }

    private mutating func reply(_ index: Int) throws {
        guard let reply = members[index].process?.replies.removeFirst() else { return }
        members[index].process?.unmarked.append(reply)
        guard let hash = rows.messages[reply.id]?.hash, let number = testMessages[hash] else { return }
        note("published \(number)")
        replyCounts[number, default: 0] += 1
        guard case .push = workload.testMessages[number].body else { return }
        let response = try PushNotificationResponse.decode(reply.payload)
        try expect(response.reports.map(\.success) == model.reports[number], "a published reply is the decided one: message \(number)")
    }

    private mutating func mark(_ index: Int) async throws {
        guard let process = members[index].process else { return }
        let marks = process.unmarked.map { ($0.id, $0.segments, $0.completion) }
        let committed = try await call(.mark, of: index) { [now] store in
            await store.commit(marks, at: now) { _ in
                Lookups()
            } deciding: { mark, batch in
                let (row, segments, completion) = mark
                switch completion {
                case .reply: batch.markPublished([row])
                case .erasedReply: batch.eraseReplies([row])
                case .decision: for row in [row] + segments { batch.decide(row, as: .silent) }
                }
            }
        }
        guard let committed else { return }
        members[index].process?.unmarked = []
        for (reply, outcome) in zip(process.unmarked, committed.outcomes) {
            guard case .failure(let error) = outcome else { continue }
            if StoreFault(error) != .taken {
                members[index].process?.unmarked.append(reply)
            } else if !reply.segments.isEmpty {
                members[index].process?.unread += [reply.id] + reply.segments
            }
        }
    }

    // MARK: Pushes

    /// Begins attempts at the pushes that were read, under the number before the read.
    private mutating func choose(_ index: Int) {
        guard let process = members[index].process else { return }
        note("chosen \(process.due.map(\.id))")
        members[index].process?.chosen += process.due.map { ($0, process.dueNumber) }
        members[index].process?.due = []
    }

    /// Records the outcomes of attempts.
    private mutating func settle(_ index: Int) async throws {
        guard let process = members[index].process else { return }
        let outcomes = process.outcomes
        var update = OutboxUpdate()
        update.pushes = outcomes.map(\.update)
        update.tokens = outcomes.compactMap(\.deadToken).map { .unregister($0) }
        guard try await call(.settle, of: index, { [now, update] in try await $0.update(update, at: now) }) != nil else { return }
        for outcome in outcomes {
            // A push that ended meanwhile keeps its end.
            if case .finish(let end) = outcome.change, rows.pushes[outcome.push.id]?.is(end) == true { model.ended(outcome.push, as: end) }
        }
        members[index].process?.outcomes = []
        note("settled \(outcomes.map(\.push.id))")
    }

    /// Posts a push, unless the lease of the server has ended.
    private mutating func post(_ index: Int) throws {
        guard let process = members[index].process, let (push, member) = process.chosen.first else { return }
        members[index].process?.chosen.removeFirst()
        guard process.store.holdsLease(as: member, for: ClusterLimits.postingTime) else {
            note("lease ended before \(push.id)")
            return
        }
        try expect(rows.pushes[push.id]?.server == process.store.number, "only the owner of a push posts it: push \(push.id)")
        let retryTime = process.steadyNow.advanced(by: .seconds(2))
        if gorushIsBusy, chance(2) {
            note("not posted \(push.id)")
            return end(push, .retry(at: retryTime, isUnknown: false), index)
        }
        note("posted \(push.id)")
        let earlierCount = postCounts[push.id, default: 0]
        try expect(
            earlierCount <= uncertainCounts[push.id, default: 0] || postNumbers[push.id] != process.store.number,
            "a server posts a push again only after an uncertain attempt: push \(push.id)")
        postCounts[push.id] = earlierCount + 1
        postNumbers[push.id] = process.store.number
        let isLost = gorushLosesAnswers && chance(2)
        let isDead = deadTokens.contains(push.push.deviceToken)
        end(push, isLost ? .retry(at: retryTime, isUnknown: true) : .finish(isDead ? .deadToken : .sent), index)
    }

    private mutating func end(_ push: QueuedPush, _ change: OutboxUpdate.PushChange, _ index: Int) {
        let outcome = ClusterProcess.Outcome(push: push, change: change, time: now)
        members[index].process?.outcomes.append(outcome)
    }

    // MARK: Pruning

    /// Deletes old rows. Now and then it assumes that more than two days have passed, if no unpublished reply would expire. Nodes do not
    /// keep messages that long.
    mutating func prune(_ index: Int) async throws {
        guard isRunning(index) else { return }
        let isLate = chance(2) && !rows.messages.values.contains { $0.state != .recorded && $0.isUnfinished }
        note("\(members[index].name) prunes\(isLate ? " later" : "")")
        let time = isLate ? now.advanced(by: .seconds(3 * 86_400)) : now
        let earlier = Set(rows.messages.values.map(\.hash))
        try await call(.prune, of: index) { _ = try await $0.prune(at: time) }
        deleteCopies(of: earlier.subtracting(rows.messages.values.map(\.hash)))
    }
}
