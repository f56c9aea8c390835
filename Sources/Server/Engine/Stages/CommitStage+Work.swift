import PushProtocol
import Store
import Wire

extension CommitStage {
    /// A piece of work for the writer. Indirect, so that each move between queues copies a reference instead of a message's parts.
    indirect enum Work: Sendable {
        /// - Parameter failures: The failures so far, or nil before the first.
        case message(OpenedEnvelope, failures: StoreState.Failures? = nil)
        /// Closes a message's rows without a reply, because the store fails on the message.
        case close(rows: [Int64])
        /// The store fails on a registration. Its INTERNAL_ERROR supersedes older, unpublished replies to the installation.
        case supersede(PendingReply, OpenedEnvelope)
    }

    struct Item: Sendable {
        var work: Work
        /// The message's permit. Nil once its INTERNAL_ERROR is with the reply stage.
        var permit: SharedPermit?
    }
}

extension CommitStage.Item {
    /// The INTERNAL_ERROR that a `supersede` item still has to publish, or nil for other work. It is published after the write succeeds or
    /// fails for the first time.
    var refusal: PendingReply? {
        if case .supersede(let reply, _) = work, permit != nil { reply } else { nil }
    }
}

extension CommitStage.Work {
    var message: OpenedEnvelope? {
        switch self {
        case .message(let message, _), .supersede(_, let message): message
        case .close: nil
        }
    }

    /// The message, if it is still to be decided.
    var undecided: OpenedEnvelope? { if case .message(let message, _) = self { message } else { nil } }

    /// Whether the message was refused.
    var isRefused: Bool { if case .message = self { false } else { true } }

    /// The message's rows, including its other segments.
    var rows: [Int64] {
        if case .close(let rows) = self { rows } else { message?.rows ?? [] }
    }

    /// Whether the work has certainly changed the database. A query with a reply changes nothing before the reply is published.
    func hasWritten(_ outcome: Decider.Outcome?) -> Bool {
        if case .supersede = self { false } else { outcome?.category != .queryReplied }
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
