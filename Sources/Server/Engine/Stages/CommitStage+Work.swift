import PushProtocol
import Store
import Wire

extension CommitStage {
    /// A piece of work for the writer. Indirect, so that each move between queues copies a reference instead of a message's parts.
    ///
    /// The permit is the message's. It ends with the work.
    indirect enum Work: Sendable {
        /// - Parameter failures: The failures so far, or nil before the first.
        case decide(OpenedEnvelope, SharedPermit, failures: StoreState.Failures? = nil)
        /// The store fails on a registration. Its INTERNAL_ERROR supersedes older, unpublished replies to the installation, and is
        /// published.
        case refuse(OpenedEnvelope, with: PendingReply, SharedPermit)
        /// The INTERNAL_ERROR is published already, because its sender waits. It still supersedes older replies.
        case tidy(OpenedEnvelope, with: PendingReply)
        /// Closes a message's rows without a reply, because the store fails on the message.
        case close(rows: [Int64], SharedPermit)
    }
}

extension CommitStage.Work {
    var message: OpenedEnvelope? {
        switch self {
        case .decide(let message, _, _), .refuse(let message, _, _), .tidy(let message, _): message
        case .close: nil
        }
    }

    var permit: SharedPermit? {
        switch self {
        case .decide(_, let permit, _), .refuse(_, _, let permit), .close(_, let permit): permit
        case .tidy: nil
        }
    }

    /// The message, if it is still to be decided.
    var undecided: OpenedEnvelope? { if case .decide(let message, _, _) = self { message } else { nil } }

    /// The INTERNAL_ERROR to publish, or nil for other work.
    var refusal: PendingReply? { if case .refuse(_, let reply, _) = self { reply } else { nil } }

    /// The message's rows, including its other segments.
    var rows: [Int64] {
        if case .close(let rows, _) = self { rows } else { message?.rows ?? [] }
    }

    /// Whether the work has certainly changed the database. A query with a reply changes nothing before the reply is published.
    func hasWritten(_ outcome: Decider.Outcome?) -> Bool {
        switch self {
        case .decide, .close: outcome?.category != .queryReplied
        case .refuse, .tidy: false
        }
    }

    /// The estimated writer time, as measured on a slow core: lookups and writes.
    var cost: Duration {
        .microseconds(50) + .microseconds(75) * entryCount
    }

    /// How many targets a push request has, or keys a query. A registration counts 1, and 1 more for each hundred list entries.
    private var entryCount: Int {
        guard case .message(let body, _) = message?.content else { return 0 }
        switch body {
        case .push(let request): return request.requests.count
        case .query(let keyHashes): return keyHashes.count
        case .registration(let registration):
            guard case .message(let content) = registration.facts.content else { return 0 }
            return 1 + content.lists.reduce(0) { $0 + $1.count } / 100
        }
    }
}

extension OpenedEnvelope {
    /// The message's rows, including its other segments, with its own first.
    var rows: [Int64] { [id] + segments }

    /// Whether the message ages from its sender's time, because it was backfilled.
    var agesFromSending: Bool {
        guard case .message(_, let origin) = content, let agesSince else { return false }
        return agesSince < origin.receivedAt
    }

    /// The database rows that the message may find locked.
    var subjects: [BlockedMessages.Subject] {
        [.message(id)] + Set(installations.map(\.keyHash)).map { .owner($0) }
    }

    private var installations: [Installation] {
        guard case .message(let body, _) = content else { return [] }
        switch body {
        case .registration(let registration): return [registration.installation].compactMap(\.self)
        case .query: return []
        case .push(let request): return request.requests.prefix(ProtocolLimits.maximumNotificationsPerRequest).compactMap(\.installation)
        }
    }
}
