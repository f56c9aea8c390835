import Bytes
import ServerCrypto
import Store
import Synchronization
import Tasks
import Workers

/// Checks that a device identifier belongs to an account. The identifier is a digest over the account's cloud id and an app password's
/// number, which the proxy does not know (GATEWAY_PROTOCOLS.md §2.5). A thread with low priority runs the searches, each after the
/// previous.
final class DeviceIdentifierSearch: Sendable {
    enum Outcome: Sendable, Equatable {
        case belongs
        case doesNotBelong
        /// Too many searches wait already.
        case busy
    }

    /// The maximum number of searches: the current search and three that wait. A search takes up to a few seconds, and an app waits half a
    /// minute.
    static let maximumCount = 4
    /// The number of app passwords between two looks at whether the client is still connected: less than a millisecond.
    private static let checkInterval = 1_000

    private let maximumTokenNumber: Int
    private let thread = WorkerPool(name: "identifiers")
    /// The searches in progress and waiting.
    private let admitted = ConcurrencyLimiter(limit: maximumCount)

    /// - Parameter maximumTokenNumber: The highest app password number that is tried.
    init(maximumTokenNumber: Int) {
        self.maximumTokenNumber = maximumTokenNumber
    }

    /// Searches for the app password that `identifier` was made from.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, which stops the search.
    func search(_ identifier: DeviceIdentifier, of account: CloudID) async throws -> Outcome {
        guard admitted.tryAcquire() else { return .busy }
        defer { admitted.release() }
        let stop = Flag()
        return try await withTaskCancellationHandler {
            try await thread.run { [maximumTokenNumber] in
                let number = Self.tokenNumber(of: identifier, account, upTo: maximumTokenNumber) { stop.isSet.load(ordering: .relaxed) }
                return number == nil ? .doesNotBelong : .belongs
            }
        } onCancel: {
            stop.isSet.store(true, ordering: .relaxed)
        }
    }

    /// Returns when no search is in progress or waiting, or when the task is cancelled.
    func waitUntilIdle() async { await admitted.waitUntilIdle() }

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    /// Returns the app password number that `identifier` was made from, or nil if it isn't between 1 and `maximum`.
    ///
    /// - Parameter isStopped: Called now and then. Once it returns true, the search ends with nil.
    static func tokenNumber(
        of identifier: DeviceIdentifier, _ account: CloudID, upTo maximum: Int, isStopped: () -> Bool = { false }
    ) -> Int? {
        // It is not known how a server spells its host: as the client wrote it, or in lower case.
        var asSent = SHA512Prefix(preimagePrefix(account.canonicalText(host: account.hostAsSent)))
        var inLowerCase = SHA512Prefix(preimagePrefix(account.canonicalText(host: account.host)))
        let isOneSpelling = account.hostAsSent == account.host
        for number in stride(from: 1, through: maximum, by: 1) {
            if number.isMultiple(of: checkInterval), isStopped() { return nil }
            let suffix = Array("\(number)]".utf8)
            if asSent.hash(suffix.span) == identifier.digest { return number }
            if !isOneSpelling, inLowerCase.hash(suffix.span) == identifier.digest { return number }
        }
        return nil
    }

    private static func preimagePrefix(_ cloudID: String) -> [UInt8] { Array("[\(PHPJSON.string(cloudID)),".utf8) }
}
