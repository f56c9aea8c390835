import Store

/// Whether the store works, as far as its writes and probes have shown. Events go in, and the state does not perform I/O.
///
/// - **working**: the initial state.
/// - **in doubt**: a write failed for a reason that may be its own. A probe decides: if it succeeds, the store is working, and if it fails,
///   the store is away.
/// - **away**: a write failed for a reason that concerns every write, a probe failed, or a probe takes longer than ``probeLimit``. This
///   ends when a write succeeds that began afterwards.
///
/// A store that is away refuses nothing: messages wait in the journal, undecided. Only a message that fails while the store works is
/// refused (``verdict(on:at:)``).
struct StoreState: Sendable {
    /// A write or a probe, numbered in the order in which they started.
    typealias Attempt = Int

    /// Probes while the store is away. An operator who frees disk space sees the server ready within seconds (RELIABILITY.md T3).
    static let probeInterval = Duration.seconds(1)
    /// A probe that takes longer counts as failed, although it may still return. Writing a row takes milliseconds.
    static let probeLimit = Duration.seconds(2)
    /// How long a message is retried before its sender gets INTERNAL_ERROR (PROTOCOL.md §7 row 12), no matter how long each attempt takes.
    static let retryDeadline = Duration.seconds(2)

    /// A message's failures so far.
    struct Failures: Sendable, Equatable {
        /// When the first attempt started.
        var since: Duration
        /// The newest attempt when a write last failed. A later success proves that the store works.
        var attempt: Attempt
    }

    /// The reason why a store is away whose probe neither succeeds nor fails.
    struct ProbeHangs: Error, CustomStringConvertible {
        let description = "a write of one row takes more than \(probeLimit.components.seconds) s"
    }

    enum Verdict: Equatable {
        /// The message returns to the journal, because the store is away.
        case wait
        case retry
        /// The message fails although the store works.
        case refuse
    }

    /// Whether the store is away.
    private(set) var isAway = false
    /// The number of failures since the last successful write.
    private(set) var failureCount = 0
    private var newest: Attempt = 0
    private var newestSuccess: Attempt = 0
    /// The newest attempt when the store was last found away. Only a later attempt proves that it is back.
    private var awaySince: Attempt = 0
    /// The newest attempt when a write last failed for a reason that may be its own. Nil once a later attempt has succeeded.
    private var doubt: Attempt?
    /// The newest attempt when a write last failed.
    private var newestAtFailure: Attempt = 0
    /// When the writes in progress started.
    private var starts: [Attempt: Duration] = [:]
    private var probe: (attempt: Attempt, start: Duration)?

    /// When the oldest write in progress started.
    var oldestStart: Duration? { starts.values.min() }
    /// Whether a probe is due: immediately while the store is in doubt, after ``probeInterval`` while it is away.
    var needsProbe: Bool { probe == nil && (isAway || doubt != nil) }
    var isProbing: Bool { probe != nil }

    // MARK: Events

    /// Starts a write.
    mutating func begin(at now: Duration) -> Attempt {
        newest += 1
        starts[newest] = now
        return newest
    }

    /// Ends a write, whose success or failure is another event.
    mutating func end(_ attempt: Attempt) { starts[attempt] = nil }

    /// Records that a write changed the database. Without a change it succeeds on a full disk too.
    ///
    /// - Returns: The number of failures before, or nil unless the store was away.
    mutating func succeeded(_ attempt: Attempt) -> Int? {
        newestSuccess = max(newestSuccess, attempt)
        if let doubt, attempt > doubt { self.doubt = nil }
        guard !isAway else {
            guard attempt > awaySince else { return nil }
            defer { (isAway, failureCount) = (false, 0) }
            return failureCount
        }
        if doubt == nil { failureCount = 0 }
        return nil
    }

    /// Records that a write failed.
    ///
    /// - Returns: Whether the store is away since now.
    mutating func failed(_ error: any Error) -> Bool {
        failureCount += 1
        newestAtFailure = newest
        switch StoreFault(error) {
        case .wholeStore: return leave()
        case .rowsHeld: return false
        case .taken, .ofMessage:
            doubt = newest
            return false
        }
    }

    mutating func beginProbe(at now: Duration) -> Attempt {
        let attempt = begin(at: now)
        probe = (attempt, now)
        return attempt
    }

    mutating func endProbe(_ attempt: Attempt) {
        end(attempt)
        probe = nil
    }

    /// - Returns: Whether the store is away since now.
    mutating func probeFailed() -> Bool {
        failureCount += 1
        return leave()
    }

    /// - Returns: Whether the store is away since now, because a probe hangs.
    mutating func advance(to now: Duration) -> Bool {
        guard let probe, now - probe.start >= Self.probeLimit else { return false }
        return leave()
    }

    private mutating func leave() -> Bool {
        awaySince = newest
        defer { isAway = true }
        return !isAway
    }

    // MARK: Messages

    /// A message's failures after another.
    func failures(_ earlier: Failures?, triedAt start: Duration) -> Failures {
        Failures(since: earlier?.since ?? start, attempt: newestAtFailure)
    }

    /// What happens to a message that failed, after a short delay.
    ///
    /// - Returns: nil as long as a probe has to tell whether the store works.
    mutating func verdict(on failures: Failures, at now: Duration) -> Verdict? {
        if isAway { return .wait }
        guard now - failures.since >= Self.retryDeadline else { return .retry }
        guard awaitsProof(of: failures) else { return .refuse }
        doubt = doubt ?? failures.attempt
        return nil
    }

    /// Whether no write has succeeded since a message failed, and the store is not known to be away either.
    func awaitsProof(of failures: Failures) -> Bool { !isAway && newestSuccess <= failures.attempt }
}
